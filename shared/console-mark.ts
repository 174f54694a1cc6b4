/** The console's mark: lanes that become one. Drawn in the page and as the icon of its tab. */
export const MARK_BOX = "0 0 24 24";
export const MARK_PATHS = [
  "M4.5 6.5H8c4.5 0 4 5.5 8 5.5",
  "M4.5 17.5H8c4.5 0 4-5.5 8-5.5",
  "M4.5 12h14.5",
  "M16 9l3 3-3 3",
] as const;
export const MARK_COLOR = "#2d57d6";
