// The artwork of an NFT: a square with a description, and a sentence if the image can not be loaded.

import { element } from "./element.js";

export function picture(nft, { eager = false, large = false } = {}) {
  const frame = element("div", { class: "artwork" });
  const image = element("img", {
    ...(large ? sources(nft) : {}),
    src: nft.imageUrl,
    alt: describe(nft),
    width: 640,
    height: 640,
    loading: eager ? "eager" : "lazy",
    decoding: "async",
    onerror: () => {
      if (image.srcset) image.removeAttribute("srcset");
      else frame.replaceChildren(element("p", { class: "lost" }, "The image can't be loaded"));
    },
  });
  frame.append(image);
  return frame;
}

/** For sharp screens, the original: only the sandbox's own, which is 1,280 pixels wide, never one of another host. */
function sources({ imageUrl, originalImageUrl }) {
  if (!originalImageUrl?.startsWith(`${location.origin}/`)) return {};
  return { srcset: `${imageUrl} 640w, ${originalImageUrl} 1280w`, sizes: "(min-width: 60rem) 40rem, 100vw" };
}

/** A small picture beside a name that says what it shows. */
export const thumbnail = (nft) =>
  element("img", { src: nft.imageUrl, alt: "", width: 640, height: 640, loading: "lazy", decoding: "async" });

/** [{trait_type, value}], or [] if there are none or they can't be read. */
export function attributes(nft) {
  try {
    const list = JSON.parse(nft.stringifiedAttributes ?? "[]");
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

function describe(nft) {
  const traits = attributes(nft).map(({ trait_type, value }) => `${trait_type} ${value}`);
  return [`Artwork of ${nft.name}`, traits.join(", ")].filter(Boolean).join(": ");
}
