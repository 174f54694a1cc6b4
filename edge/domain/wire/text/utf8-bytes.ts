/** How long a text is in UTF-8, without a copy of it. */

const encoder = new TextEncoder();
const scratch = new Uint8Array(16 * 1024);

export function utf8Bytes(text: string): number {
  let [bytes, at] = [0, 0];
  while (at < text.length) {
    // one unit more than the buffer takes: so a part ends between the halves of a pair only where the text does
    const { read, written } = encoder.encodeInto(text.slice(at, at + scratch.byteLength + 1), scratch);
    at += read;
    bytes += written;
  }
  return bytes;
}
