/** What was written and not sent, for the screens: they keep it with the node, whichever of them it was written on. */
import { present } from '../../protocol/encoding/present.ts'
import type { Attachments } from '../attachments/attachments.ts'
import { draftsIn } from '../home/drafts.ts'
import type { Handlers } from './handlers.ts'

type Kept = { text: string; files: readonly string[] }

const isSame = (a: Kept, b: Kept): boolean => a.text === b.text && a.files.join('\n') === b.files.join('\n')

export function draftOperations(
  dir: string,
  uploads: Attachments['uploads'],
): Pick<Handlers, 'draft' | 'draftKeep'> {
  const drafts = draftsIn(dir)
  const goneOf = (files: readonly string[]) => {
    const gone = files.filter(path => uploads.isGone(path))
    return present({ gone: gone.length === 0 ? undefined : gone })
  }
  return {
    async draft({ for: name }) {
      const { text = '', files = [] } = drafts.read(name) ?? {}
      return { text, files: [...files], ...goneOf(files) }
    },
    async draftKeep({ for: name, text, files, was }) {
      const kept = text.trim() !== '' || files.length > 0
      const there = drafts.read(name)
      // it was sent from one screen, and written on with another one
      if (was !== undefined && there !== undefined && !isSame(was, there) && !isSame({ text, files }, there))
        return {
          kept: true,
          ...(kept && { other: { text: there.text, files: [...there.files] } }),
          ...goneOf(files),
        }
      if (kept) drafts.write(name, { text, files })
      else drafts.remove(name)
      return { kept, ...goneOf(files) }
    },
  }
}
