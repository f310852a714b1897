/** Results fit a model's window: 4,000 characters unless asked, 8,000 at most, a cursor for the rest. */

export const RESULT_CHARACTERS_DEFAULT = 4_000
export const RESULT_CHARACTERS_MAX = 8_000

export const size = (value: unknown): number => JSON.stringify(value).length

/** The longest prefix of `items`, at least one, with which `build` stays in the budget; `cut` says there was more. */
export function cutToFit<T, R>(
  items: readonly T[],
  budget: number,
  build: (items: readonly T[], cut: boolean) => R,
): R {
  const whole = build(items, false)
  if (items.length <= 1 || size(whole) <= budget) return whole
  const kept = highest(1, items.length - 1, count => size(build(items.slice(0, count), true)) <= budget)
  return build(items.slice(0, kept), true)
}

/** How much of a text `build` takes without leaving the budget; it ends between characters. */
export function longestThatFits(text: string, budget: number, build: (length: number) => unknown): number {
  if (size(build(text.length)) <= budget) return text.length
  const length = highest(0, text.length - 1, count => size(build(count)) <= budget)
  return wholeCharacters(text, length)
}

/** At most so much of a text, without half a character at its end. */
export function wholeCharacters(text: string, length: number): number {
  if (length >= text.length) return text.length
  return length > 0 && /[\ud800-\udbff]/.test(text.charAt(length - 1)) ? length - 1 : length
}

/** The highest number from `low` on that holds; `low` is taken to. */
function highest(low: number, high: number, holds: (count: number) => boolean): number {
  let [from, to] = [low, high]
  while (from < to) {
    const middle = Math.ceil((from + to) / 2)
    if (holds(middle)) from = middle
    else to = middle - 1
  }
  return from
}

/**
 * One page of a list in the default budget. Of a page that is too long `cut` makes one that ends with the last row that
 * fits; where it can't, that page is fetched again shorter, with its own cursor, and that time without waiting.
 */
export async function fitPage<P extends { rows: readonly Record<string, unknown>[] }>(
  limit: number,
  waitSeconds: number | undefined,
  fetchPage: (limit: number, waitSeconds: number | undefined) => Promise<P>,
  cut: (page: P, rows: P['rows']) => P | undefined = () => undefined,
): Promise<P> {
  const page = await fetchPage(limit, waitSeconds)
  const kept = cutToFit(page.rows, RESULT_CHARACTERS_DEFAULT - CURSOR_ROOM_CHARACTERS, rows => rows)
  if (kept.length === page.rows.length) return page
  return cut(page, kept) ?? (await fetchPage(kept.length, undefined))
}

const CURSOR_ROOM_CHARACTERS = 200
