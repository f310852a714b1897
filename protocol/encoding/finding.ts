/** What a doctor says of one thing it looked at. */

/** One line of a doctor: what was looked at, what was found, and the step that mends it. */
export type Finding = {
  check: string
  /** `note` is worth knowing and breaks nothing. */
  state: 'ok' | 'note' | 'wrong'
  found: string
  /** The command or step that mends it. */
  mend?: string
}

/** Nothing to do. */
export const ok = (check: string, found: string): Finding => ({ check, state: 'ok', found })
/** Worth knowing; `mend` is the command or step. */
export const note = (check: string, found: string, mend: string): Finding => ({
  check,
  state: 'note',
  found,
  mend,
})
/** To be mended; `mend` is the command or step. */
export const wrong = (check: string, found: string, mend: string): Finding => ({
  check,
  state: 'wrong',
  found,
  mend,
})
