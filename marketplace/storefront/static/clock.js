// The time now by the server's clock: the visitor's may be wrong.

const skew = performance.timeOrigin - Number(document.documentElement.dataset.now);

export const now = () => Date.now() - skew;
