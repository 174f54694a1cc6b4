/**
 * Lets schemas judge without making code of texts, which the page's policy refuses (docs/rules/console.md#headers). Imported by
 * every module that judges with a schema, before its first use.
 */
import { config } from "zod";

config({ jitless: true });
