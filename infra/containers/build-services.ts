/** `npm run build:services`: bundles what a service needs that starts from a folder it cannot write (infra/systemd). */
import { bundleAll } from "./bundle-all.ts";

await bundleAll();
process.stdout.write("the console and the Worker are bundled in dist/\n");
