-- Let accounts spend HBAR and units of tokens that others allow them to
CREATE TABLE allowance (
    owner TEXT NOT NULL,
    spender TEXT NOT NULL,
    token TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0),
    granted INTEGER NOT NULL,
    approved_at INTEGER NOT NULL,
    PRIMARY KEY (owner, spender, token)
) STRICT;
