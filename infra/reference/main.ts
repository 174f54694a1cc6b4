/** `npm run reference`: writes docs/reference anew from the catalogues in the code. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { referencePages } from "./pages.ts";

const ROOT = join(import.meta.dirname, "../..");

mkdirSync(join(ROOT, "docs/reference"), { recursive: true });
for (const [path, text] of referencePages()) writeFileSync(join(ROOT, path), text);
