// hashconnect 0.2: topic is that of the pairing.
const purchase = PREPARED;

// Hand over bytes, not the text of byteArray: HashConnect encodes them as base64 itself.
const byteArray = Uint8Array.from(atob(purchase.byteArray), (char) => char.charCodeAt(0));

const answer = await hashconnect.sendTransaction(topic, {
  topic,
  byteArray,
  metadata: purchase.metadata, // returnTransaction is true: the wallet returns what it signed
});
if (!answer.success) throw new Error(answer.error);

// POST /v1/comingsoon takes it as signedTransaction.
console.log(btoa(String.fromCharCode(...answer.signedTransaction)));
