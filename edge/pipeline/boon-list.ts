/**
 * Every boon, in the order in which they change a request (docs/rules/boons.md#order). What boons have in common is in
 * boons/; each one is a folder of its own beside it, because it may make sub-calls.
 */
import type { Boon } from "./boons/boon.ts";
import { toolLoopBoon } from "./tool-loop/tool-loop-boon.ts";

export const BOONS: readonly Boon[] = [toolLoopBoon];
