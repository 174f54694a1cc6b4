/** Starts the console in the language of the browser; texts are chosen before anything that has texts is loaded. */
import { languages } from "console-languages";
import { setLanguage } from "./messages/texts.ts";

async function start(): Promise<void> {
  const name = navigator.languages
    .map((tag) => tag.split("-")[0] ?? "")
    .find((tag) => tag === "en" || Object.hasOwn(languages, tag));
  const load = name === undefined ? undefined : languages[name];
  if (name !== undefined && load !== undefined) {
    setLanguage(name, await load());
    document.documentElement.lang = name;
  }
  const { startConsole } = await import("./shell/start.tsx");
  startConsole();
}

void start();
