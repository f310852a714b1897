/** Words for one task that were written on two screens: each of them keeps what stands on the other. */
export type Written = { readonly text: string; readonly files: readonly string[] }

export const nothingWritten: Written = { text: '', files: [] }
export const BOTH_STAND =
  'another screen kept other words for this since you opened it; both stand here now, so look before you send'

export const isSameDraft = (a: Written, b: Written): boolean =>
  a.text === b.text && a.files.join('\n') === b.files.join('\n')

/** Both of them: what goes on with the other one once, anything else one behind the other. */
export function bothDrafts(there: Written, here: Written): Written {
  const files = [...new Set([...there.files, ...here.files])]
  if (here.text.startsWith(there.text)) return { text: here.text, files }
  if (there.text.startsWith(here.text)) return { text: there.text, files }
  return { text: `${there.text}\n\n${here.text}`, files }
}
