// The artwork of an NFT: a square with a description, and a sentence if the image can not be loaded.

import { element } from "./element.js";

export function picture(nft, { eager = false } = {}) {
  const frame = element("div", { class: "artwork" });
  const image = element("img", {
    src: nft.imageUrl,
    alt: describe(nft),
    width: 640,
    height: 640,
    loading: eager ? "eager" : "lazy",
    decoding: "async",
    onerror: () => frame.replaceChildren(element("p", { class: "lost" }, "The image can't be loaded")),
  });
  frame.append(image);
  return frame;
}

/** The address of the same image in 320 pixels, if there is one. */
const small = (url) => url.replace(/-640\.webp$/, "-320.webp");

/** A small picture beside a name that says what it shows. */
export const thumbnail = (nft) =>
  element("img", { src: small(nft.imageUrl), alt: "", width: 320, height: 320, loading: "lazy", decoding: "async" });

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
