/** What a doctor says of one thing it looked at. */

export type Finding = {
  check: string
  /** `note` is worth knowing and breaks nothing. */
  state: 'ok' | 'note' | 'wrong'
  found: string
  /** The command or step that mends it. */
  mend?: string
}

export const ok = (check: string, found: string): Finding => ({ check, state: 'ok', found })
export const note = (check: string, found: string, mend: string): Finding => ({
  check,
  state: 'note',
  found,
  mend,
})
export const wrong = (check: string, found: string, mend: string): Finding => ({
  check,
  state: 'wrong',
  found,
  mend,
})
