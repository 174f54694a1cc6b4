/** Draws the console, with what every page shares: reads, routes and toasts. */

import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { lazy, StrictMode, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { whenPersonChanged, whenSignedOut } from "../data/api.ts";
import { ApiError } from "../data/api-error.ts";
import { SESSION_KEY, sessionQuery } from "../data/session.ts";
import { shellTexts } from "../messages/en/shell.ts";
import { texts } from "../messages/texts.ts";
import { applyDensity, storedDensity } from "../ui/density.ts";
import { installPartsAhead } from "./parts-ahead.ts";
import { consoleRouter } from "./router.tsx";
import { applyTheme, storedTheme } from "./theme.ts";

const text = texts("shell", shellTexts);
const Toasts = lazy(async () => ({ default: (await import("../ui/toasts.tsx")).Toasts }));

/** Of an error that tells that the user is no longer what the page takes them for. */
const ABOUT_USER = new Set(["signed_out", "account_pending", "account_disabled", "no_tenant", "forbidden"]);

/**
 * Lets schemas validate without making code of texts, which the page's policy refuses (docs/rules/console.md#headers). The schema
 * library reads this when it is loaded, so no module of the first load may import it.
 */
Object.assign(globalThis, { __zod_globalConfig: { jitless: true } });

/** Draws the console into the page. */
export function startConsole(): void {
  const root = document.getElementById("root");
  if (root === null) return;
  installPartsAhead();
  applyTheme(storedTheme());
  applyDensity(storedDensity());
  const onError = (error: unknown): void => {
    if (error instanceof ApiError && ABOUT_USER.has(error.code))
      void queries.invalidateQueries({ queryKey: SESSION_KEY });
  };
  const queries: QueryClient = new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: { refetchOnWindowFocus: true, refetchIntervalInBackground: false, networkMode: "always" },
    },
  });
  whenPersonChanged(() => void queries.invalidateQueries({ queryKey: SESSION_KEY }));
  whenSignedOut(() => void queries.invalidateQueries({ queryKey: SESSION_KEY }));
  // Asked for while the page's part is loaded, which every page but the first waits for.
  void queries.prefetchQuery(sessionQuery);
  const router = consoleRouter(queries);
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
        <Suspense fallback={null}>
          <Toasts label={text("notifications")} />
        </Suspense>
      </QueryClientProvider>
    </StrictMode>,
  );
}
