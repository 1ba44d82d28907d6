// Four clients from npm, unchanged, against a server: prints what each of them brought back.
// node libretranslate_clients.cjs FOLDER ADDRESS TEXT OTHER-TEXT, where FOLDER has the node_modules
"use strict";
const { createRequire } = require("node:module");
const { pathToFileURL } = require("node:url");

const [folder, address, text, other] = process.argv.slice(2);
const from = createRequire(`${folder}/package.json`);

async function libretranslate() {
  const { translate } = from("libretranslate");
  return {
    translated: await translate({ query: text, source: "en", target: "fr", apiurl: address }),
    detected: await translate({ query: text, target: "fr", apiurl: address }),
    html: await translate({
      query: `<p>${text}</p>`, source: "en", target: "fr", format: "html", apiurl: address,
    }),
  };
}

async function libretranslateTs() {
  const client = from("libretranslate-ts").libreTranslate;
  client.setApiEndpoint(address);
  return {
    languages: await client.listLanguages(),
    detected: await client.detect(`${text} ${other}`),
    translated: await client.translate(text, "en", "fr"),
    alternatives: await client.translate(text, "en", "fr", 2),
    refused: await client.translate(text, "en", "tlh"),
  };
}

async function translate() {
  const entry = pathToFileURL(from.resolve("translate")).href;
  const { default: client } = await import(entry);
  Object.assign(client, { engine: "libre", url: `${address}/translate`, from: "en" });
  return { translated: await client(text, "fr") };
}

async function translateTools() {
  const { LibreTranslateTranslator } = from(
    "@translate-tools/core/translators/unstable/LibreTranslateTranslator",
  );
  const client = new LibreTranslateTranslator({ apiHost: `${address}/translate` });
  return {
    translated: await client.translate(text, "en", "fr"),
    several: await client.translateBatch([text, other], "en", "fr"),
  };
}

async function main() {
  const found = {};
  for (const client of [libretranslate, libretranslateTs, translate, translateTools]) {
    try {
      found[client.name] = await client();
    } catch (error) {
      found[client.name] = { missing: error.code === "MODULE_NOT_FOUND", error: String(error) };
    }
  }
  console.log(JSON.stringify(found));
}

main();
