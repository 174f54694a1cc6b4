import { shellTexts } from "../messages/en/shell.ts";
import { texts } from "../messages/texts.ts";
import { Button } from "../ui/button.tsx";
import { Empty } from "../ui/states.tsx";

const text = texts("shell", shellTexts);

/** The part of a page could not be loaded. */
export class PartGone extends Error {
  constructor(cause: unknown) {
    super("the part of the page was not loaded", { cause });
  }
}

/** True for a part of the console that is no longer on the server. */
function isPartGone(error: unknown): boolean {
  if (error instanceof PartGone) return true;
  return error instanceof TypeError && /dynamically imported module|importing a module/i.test(error.message);
}

/** In place of a page that failed. */
export function Crashed({ error }: { readonly error: unknown }) {
  return (
    <div role="alert">
      <Empty title={text("crashedTitle")} action={<Button onClick={() => location.reload()}>{text("reload")}</Button>}>
        {isPartGone(error) ? text("partGone") : text("crashedText")}
      </Empty>
    </div>
  );
}
