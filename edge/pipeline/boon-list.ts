/**
 * Every boon, in the order in which they change a request (docs/rules/boons.md#order). What boons have in common is in
 * boons/; each one is a folder of its own beside it, because it may make sub-calls.
 */
import type { Boon } from "./boons/boon.ts";
import { compressionBoon } from "./compression/compression.ts";
import { structuredOutput } from "./structured-output/structured-output.ts";
import { vision } from "./vision/vision.ts";

export const BOONS: readonly Boon[] = [vision, compressionBoon, structuredOutput];
