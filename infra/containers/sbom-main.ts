/** `npm run sbom`: prints the bill of materials of everything but development, as JSON. */
import { packageFolders } from "./images.ts";
import { readLock, readProject } from "./read-project.ts";
import { sbomOf } from "./sbom.ts";

const lock = readLock();
process.stdout.write(`${JSON.stringify(sbomOf(lock, readProject(), packageFolders(lock)), null, 2)}\n`);
