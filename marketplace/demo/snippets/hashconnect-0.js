// hashconnect 0.2: topic is that of the pairing.
const listing = PREPARED;

// Hand over bytes, not the text of byteArray: HashConnect encodes them as base64 itself,
// and a wallet cannot read bytes that were encoded twice.
const byteArray = Uint8Array.from(atob(listing.byteArray), (char) => char.charCodeAt(0));

const answer = await hashconnect.sendTransaction(topic, {
  topic,
  byteArray,
  metadata: listing.metadata, // the wallet signs, and submits it itself
});
if (!answer.success) throw new Error(answer.error);
// Then report it: POST /v1/comingsoon
