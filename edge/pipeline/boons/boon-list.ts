/**
 * Every boon, in the order in which they change a request (docs/rules/boons.md#order). Shared parts of boons are in boons/;
 * each boon is a separate folder beside it, because it may make sub-calls.
 */
import type { Boon } from "../call/boon/boon.ts";
import { compressionBoon } from "./compression.ts";
import { structuredOutput } from "./structured-output.ts";
import { toolLoopBoon } from "./tool-loop/tool-loop-boon.ts";
import { vision } from "./vision.ts";

export const BOONS: readonly Boon[] = [vision, compressionBoon, toolLoopBoon, structuredOutput];
