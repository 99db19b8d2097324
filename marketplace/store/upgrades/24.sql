-- Make one trait of those that differ only in the form of their letters
UPDATE collection SET traits_version = traits_version + 1;
