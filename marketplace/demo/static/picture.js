// The artwork of an NFT: a square, described in words, that survives an image that can't be had.

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
    onerror: () => frame.replaceChildren(element("p", { class: "lost" }, "The image can't be had")),
  });
  frame.append(image);
  return frame;
}

/** A small picture beside a name that says what it shows. */
export const thumbnail = (nft) =>
  element("img", { src: nft.imageUrl, alt: "", width: 640, height: 640, loading: "lazy", decoding: "async" });

/** [{trait_type, value}]: none where there are none, or where they can't be read. */
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
