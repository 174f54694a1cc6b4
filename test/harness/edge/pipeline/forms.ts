/** Forms as clients write them, for tests of the pipeline, and their reader. Their boundary is `b`. */

import { Interruption } from "../../../../edge/pipeline/call/interruption.ts";
import { SharedTimer } from "../../../../edge/pipeline/call/shared-timer.ts";
import { BodyDeadline } from "../../../../edge/pipeline/resolve-model/body-deadline.ts";
import { BodySource } from "../../../../edge/pipeline/resolve-model/body-source.ts";

/** The unread body of a request. Throws 413 `request_too_large`. */
export function sourceOf(request: Request, maxBytes: number): BodySource {
  return new BodySource(
    request,
    maxBytes,
    new BodyDeadline({
      ports: { clock: Date.now },
      timer: new SharedTimer(Date.now),
      interruption: new Interruption(),
    }),
  );
}

export const FORM_TYPE = "multipart/form-data; boundary=b";

/** A form of these fields, followed by a file. */
export function formOf(fields: Readonly<Record<string, string>>, file: string): string {
  const part = (name: string, more: string, value: string): string =>
    `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
  const values = Object.entries(fields).map(([name, value]) => part(name, "", value));
  return `${values.join("")}${part("file", '; filename="f"', file)}--b--\r\n`;
}
