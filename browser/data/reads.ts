/**
 * Reads of the Management API as queries (TanStack Query): the key of a read is its path and parameters, so that equal reads of
 * a page are one request, and a write can name what it touched. Polling pauses in hidden tabs.
 */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import type { FetchResponse, MaybeOptionalInit } from "openapi-fetch";
import { type ApiPaths, answerValue, api, livePath, send } from "./api.ts";
import { ApiError, errorOf } from "./api-error.ts";
import { nextOf } from "./next-page.ts";

export type ReadPath = {
  [P in keyof ApiPaths]: ApiPaths[P] extends { get: object } ? P : never;
}[keyof ApiPaths];
type ReadInit<P extends ReadPath> = MaybeOptionalInit<ApiPaths[P], "get">;
type ReadValue<P extends ReadPath> = NonNullable<
  FetchResponse<ApiPaths[P]["get"] & Record<string | number, unknown>, ReadInit<P>, "application/json">["data"]
>;

interface ReadOptions {
  /** Milliseconds between two reads while the tab is seen; absent: read once, and again when the page is opened. */
  readonly everyMs?: number;
  readonly enabled?: boolean;
}

interface OneReadOptions extends ReadOptions {
  /** False: there is no value while that of new parameters is loading, where the old one would be taken for it. */
  readonly keepsOld?: boolean;
}

interface PagesOptions<T> extends ReadOptions {
  /** Of a list without a `link` header: the address of the page after these rows; null: these are the last. */
  readonly after?: (rows: readonly T[]) => string | null;
}

const RETRIES = 2;

/** A failure that may pass is tried again, a refusal is not. */
export function retries(failures: number, error: unknown): boolean {
  return failures < RETRIES && error instanceof ApiError && error.isPassing && error.retryAfterSecs === null;
}

/** Options for `useQuery`: one read. Errors are ApiError. The value of other parameters stays while a new one is loading. */
export function read<P extends ReadPath>(
  path: P,
  init?: ReadInit<P>,
  { everyMs, enabled, keepsOld = true }: OneReadOptions = {},
) {
  return queryOptions<ReadValue<P>, ApiError>({
    queryKey: [path, init ?? {}],
    queryFn: async ({ signal }) => {
      const get = api.GET as (path: P, init: unknown) => Promise<Parameters<typeof answerValue<ReadValue<P>>>[0]>;
      return answerValue(await get(path, { ...init, signal }));
    },
    ...(keepsOld ? { placeholderData: keepPreviousData } : {}),
    retry: retries,
    ...(enabled === undefined ? {} : { enabled }),
    ...(everyMs === undefined ? {} : { refetchInterval: everyMs, staleTime: everyMs / 2 }),
  });
}

/** One page of a list. */
interface Page<T> {
  readonly rows: readonly T[];
  /** The address of the next page; null: this is the last. */
  readonly next: string | null;
}

/** Options for `useInfiniteQuery`: a list, page by page, by the `link` header of the page before or by `after`. */
export function readPages<T>(
  path: ReadPath,
  query: Readonly<Record<string, string | number | boolean | undefined>>,
  options: PagesOptions<T> = {},
) {
  return infiniteQueryOptions<Page<T>, ApiError, { pages: Page<T>[] }, readonly unknown[], string>({
    queryKey: [path, "pages", query],
    queryFn: async ({ pageParam, signal }) => await readPage<T>(pageParam, signal, options.after),
    initialPageParam: addressOf(path, query),
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
    retry: retries,
    ...(options.enabled === undefined ? {} : { enabled: options.enabled }),
    ...(options.everyMs === undefined ? {} : { refetchInterval: options.everyMs }),
  });
}

/** The address of a read, for links and downloads: without what is undefined or empty. */
export function addressOf(
  path: string,
  query: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== "") search.set(name, String(value));
  return `${livePath(path)}${search.size === 0 ? "" : `?${search.toString()}`}`;
}

/** One page of a list, from an address of {@link addressOf} or of the page before. Throws ApiError. */
export async function readPage<T>(
  address: string,
  signal: AbortSignal,
  after?: (rows: readonly T[]) => string | null,
): Promise<Page<T>> {
  const response = await send(new Request(new URL(address, location.origin), { signal }));
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) throw errorOf(response, body);
  if (!Array.isArray(body)) throw new ApiError(response.status, "not_understood", "the answer is no list");
  const rows = body as T[];
  return { rows, next: after === undefined ? nextOf(response.headers.get("link")) : after(rows) };
}
