/** `npm run build:services`: bundles the files of a service that starts from a read-only folder (infra/systemd). */
import { bundleAll } from "./bundle-all.ts";

await bundleAll();
process.stdout.write("the console and the Worker are bundled in dist/\n");
