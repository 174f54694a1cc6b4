/**
 * Views of the list of requests that a person has saved: in the browser's storage, under the person's id, so that another person
 * of the same browser does not see them. A view is what its link says.
 */
import { changedSearch } from "../../data/search-params.ts";
import { type LogsSearch, logsSearch } from "./logs-search.ts";

const PREFIX = "gateway-log-views ";
/** More are not kept. */
export const VIEWS_MAX = 50;
export const VIEW_NAME_MAX = 60;

/** A view with its name. */
export interface SavedView {
  readonly name: string;
  readonly search: LogsSearch;
}

/** What a view keeps of an address: not what is open, and not whether the list follows. */
export function viewOf(search: LogsSearch): LogsSearch {
  return changedSearch(search, { open: undefined, compare: undefined, follow: undefined });
}

/** The views, by name; none when the browser keeps nothing. */
export function readViews(userId: string): readonly SavedView[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(`${PREFIX}${userId}`) ?? "[]");
    return Array.isArray(stored) ? stored.flatMap(viewFrom).slice(0, VIEWS_MAX) : [];
  } catch {
    return [];
  }
}

/** Replaces the view of the same name. False: the browser keeps nothing. */
export function saveView(userId: string, view: SavedView): boolean {
  const others = readViews(userId).filter(({ name }) => name !== view.name);
  return write(
    userId,
    [...others, view].sort((a, b) => a.name.localeCompare(b.name)),
  );
}

/** Removes a view. */
export function deleteView(userId: string, name: string): void {
  write(
    userId,
    readViews(userId).filter((view) => view.name !== name),
  );
}

function write(userId: string, views: readonly SavedView[]): boolean {
  try {
    localStorage.setItem(`${PREFIX}${userId}`, JSON.stringify(views));
    return true;
  } catch {
    return false;
  }
}

/** Whatever is stored is validated like an address. */
function viewFrom(stored: unknown): readonly SavedView[] {
  if (typeof stored !== "object" || stored === null) return [];
  const { name, search } = stored as Readonly<Record<string, unknown>>;
  if (typeof name !== "string" || name === "" || name.length > VIEW_NAME_MAX) return [];
  if (typeof search !== "object" || search === null) return [];
  return [{ name, search: viewOf(logsSearch(search as Readonly<Record<string, unknown>>)) }];
}
