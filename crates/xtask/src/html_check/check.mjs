// Opens a page of HTML in Chromium and prints a line of JSON with what was found.
// Arguments: page, JSON report with all numbers of the page (or "-"), folder for screenshots (or "-").
import fs from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import chromium from "@sparticuz/chromium";
import puppeteer from "puppeteer-core";

const [page, report, shots] = process.argv.slice(2);
const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const problems = [];
const url = pathToFileURL(page).href;

const browser = await puppeteer.launch({ args: chromium.args, executablePath: await chromium.executablePath(), headless: "shell" });
const version = await browser.version();

/** Opens the page; requests other than the page itself, errors and messages of the console are problems. */
async function open(scripts, scheme, address = url) {
  const tab = await browser.newPage();
  await tab.setViewport({ width: 1280, height: 900 });
  await tab.setJavaScriptEnabled(scripts);
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  const path = new URL(address).pathname;
  tab.on("request", (request) => {
    const target = new URL(request.url());
    if (target.protocol !== "file:" || target.pathname !== path) problems.push(`requests ${request.url()}`);
  });
  tab.on("console", (message) => problems.push(`console: ${message.text()}`));
  tab.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  const start = performance.now();
  await tab.goto(address, { waitUntil: "load" });
  return [tab, (performance.now() - start) / 1000];
}

/** Unfolds everything and asks axe-core. */
async function accessible(tab, scheme) {
  await tab.evaluate(() => document.querySelectorAll("details").forEach((part) => (part.open = true)));
  await tab.evaluate(axe);
  const result = await tab.evaluate(() => axe.run());
  for (const violation of result.violations) problems.push(`axe, ${scheme}: ${violation.id}: ${violation.nodes[0].html.slice(0, 200)}`);
  return result.passes.length;
}

/** Whether texts are in the order of a column: numbers by value, others by code units. */
function ordered(texts, down) {
  const key = (text) => (/^[+-]?\d+(\.\d+)?$/.test(text) ? (text.includes(".") ? Number(text) : BigInt(text)) : null);
  const after = (a, b) => {
    const [x, y] = [key(a), key(b)];
    return x !== null && y !== null ? x > y : x === null && y === null ? a > b : x !== null;
  };
  return texts.slice(1).every((text, n) => !(down ? after(text, texts[n]) : after(texts[n], text)));
}

/** Sorts each table by each column twice, by the mouse and by the keyboard. */
async function sorting(tab) {
  let sorted = 0;
  const heads = await tab.$$("table.sort thead button");
  for (const head of heads.slice(0, 60)) {
    for (const press of ["mouse", "keyboard"]) {
      if (press === "mouse") await head.evaluate((button) => button.click());
      else {
        await head.focus();
        await tab.keyboard.press("Enter");
      }
      const [direction, texts] = await head.evaluate((button) => {
        const cell = button.parentElement;
        const rows = [...cell.closest("table").tBodies[0].rows];
        return [cell.ariaSort, rows.map((row) => row.cells[cell.cellIndex]?.textContent.trim() ?? "")];
      });
      if (!ordered(texts, direction === "descending")) problems.push(`not sorted ${direction}: ${texts.slice(0, 5)}`);
      sorted += 1;
    }
  }
  return sorted;
}

/** Folds and unfolds each kernel, without and with the script. */
async function folding(tab) {
  const folded = await tab.evaluate(() => {
    const kernels = [...document.querySelectorAll("details.kernel")];
    const works = kernels.slice(0, 50).every((kernel) => {
      const before = kernel.open;
      kernel.querySelector("summary").click();
      const changed = kernel.open !== before;
      kernel.querySelector("summary").click();
      return changed && kernel.open === before;
    });
    return [kernels.length, works];
  });
  if (!folded[1]) problems.push("folding does not work");
  return folded[0];
}

/** Each decimal or hexadecimal number of the visible text occurs in the report. */
async function numbers(tab) {
  const text = await tab.evaluate(() => {
    const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    const all = [];
    while (texts.nextNode()) all.push(texts.currentNode.data);
    return all.join("\n");
  });
  const found = (from) => new Set(from.match(/(?<![\w.])(0x[0-9a-f]+|\d+(\.\d+)?)(?![\w]|\.\d)/g) ?? []);
  const known = found(fs.readFileSync(report, "utf8"));
  const shown = found(text);
  for (const number of shown) if (!known.has(number)) problems.push(`${number} is not in the report`);
  return shown.size;
}

const [light, seconds] = await open(true, "light");
const checked = { version, seconds: Number(seconds.toFixed(2)) };
checked.numbers = report === "-" ? 0 : await numbers(light);
checked.sorted = await sorting(light);
checked.kernels = await folding(light);
const large = (await light.$$("tr")).length > 20000;
if (!large) checked.rules = await accessible(light, "light");
const [dark] = await open(true, "dark");
if (!large) await accessible(dark, "dark");
const [plain] = await open(false, "light");
if (shots !== "-") {
  // Chromium draws no picture of more than 16,384 lines.
  const fullPage = (await light.evaluate(() => document.body.scrollHeight)) < 16000;
  await light.screenshot({ path: `${shots}/light.png`, fullPage });
  await dark.screenshot({ path: `${shots}/dark.png`, fullPage });
  await plain.screenshot({ path: `${shots}/no-script.png` });
  if (!large) await light.pdf({ path: `${shots}/print.pdf`, format: "A4" });
}
await browser.close();
console.log(JSON.stringify({ ...checked, problems }));
process.exit(problems.length > 0 ? 1 : 0);
