/** Walks through the console, each as a page of docs/console/ with what was clicked and what was seen. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { Walk } from "../walks/walk.ts";

interface WalkPage {
  readonly folder: string;
  /** Of the page, and the beginning of the names of its pictures. */
  readonly name: string;
  readonly title: string;
  readonly intro: string;
  /** Takes a picture of a page under a name. */
  readonly take: (page: Page, name: string) => Promise<void>;
}

export async function writeWalk(options: WalkPage, walkOn: (walk: Walk) => Promise<unknown>): Promise<void> {
  const { folder, name, title, intro, take } = options;
  const parts: string[] = [];
  let told = 0;
  const walk: Walk = new Walk(async (seen, page) => {
    const picture = `${name}-${parts.length + 1}`;
    await take(page, picture);
    parts.push(`${steps(walk, told)}## ${seen}\n\n![${seen}](${picture}.png)\n`);
    told = walk.steps.length;
  });
  await walkOn(walk);
  const whole = `${walk.clicks} clicks, ${walk.steps.length - walk.clicks} other things done.`;
  const text = [`# ${title}\n`, `${intro} ${whole}\n`, ...parts, steps(walk, told)].join("\n").trimEnd();
  writeFileSync(join(folder, `${name}.md`), `${text}\n`);
}

/** What was done from one step on, as a numbered list. */
function steps(walk: Walk, from: number): string {
  const lines = walk.steps.slice(from).map(({ who, did }, at) => `${from + at + 1}. ${who} ${did}.`);
  return lines.length === 0 ? "" : `${lines.join("\n")}\n\n`;
}
