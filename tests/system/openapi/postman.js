// Makes a Postman collection of an OpenAPI document: node postman.js < openapi.json > postman.json

const { readFileSync } = require("fs");
const { convertV2 } = require("openapi-to-postmanv2");

const OPTIONS = {
  folderStrategy: "Tags",
  parametersResolution: "Example",
  enableOptionalParameters: false,
};
// Ids are others each time, and so are the values of answers that it makes up.
const LEFT_OUT = ["_postman_id", "id", "response"];

convertV2({ type: "string", data: readFileSync(0, "utf8") }, OPTIONS, (error, made) => {
  if (error || !made.result) throw error || new Error(made.reason);
  const collection = made.output[0].data;
  collection.variable.push({ key: "bearerToken", value: "" });
  const keep = (key, value) => (LEFT_OUT.includes(key) ? undefined : value);
  console.log(JSON.stringify(collection, keep, 2));
});
