/** `npm run reference`: rewrites docs/reference, the names of variables and the dashboard from the catalogues in the code. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writtenFiles } from "./pages.ts";

const ROOT = join(import.meta.dirname, "../..");

mkdirSync(join(ROOT, "docs/reference"), { recursive: true });
for (const [path, text] of writtenFiles()) writeFileSync(join(ROOT, path), text);
