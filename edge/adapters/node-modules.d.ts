/** The parts in use of the platform's Node modules: their full types would bring all of Node's globals. */

declare module "node:stream" {
  /** The last of the two, which ends as the first does. */
  export function pipeline<T>(
    source: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
    decoder: T,
    ended: () => void,
  ): T;
}

declare module "node:zlib" {
  type Decoder = AsyncIterable<Uint8Array> & { readonly destroyed: boolean };
  interface Options {
    readonly chunkSize: number;
    readonly params?: Readonly<Record<number, number>>;
  }
  export function createGunzip(options: Options): Decoder;
  export function createInflate(options: Options): Decoder;
  export function createBrotliDecompress(options: Options): Decoder;
  export function createZstdDecompress(options: Options): Decoder;
  export const constants: { readonly ZSTD_d_windowLogMax: number };
}
