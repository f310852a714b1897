/** Word of mailboxes: at once in this process, and a moment later in the others. */
import { wakeUpsInProcess } from '../core/in-process/wake-ups.ts'
import type { WakeUp, WakeUps } from '../core/ports/wake-ups.ts'
import type { Word } from './word.ts'

const KINDS: Readonly<Record<WakeUp, string>> = {
  mail: 'mail',
  newer: 'newer',
  older: 'older',
  ended: 'ended',
}
const LOOK_EVERY_MS = 3000

export function wakeUpsOver(word: Word): WakeUps {
  const here = wakeUpsInProcess()
  for (const [what, kind] of Object.entries(KINDS) as [WakeUp, string][])
    word.listen(kind, mailbox => here.tell(Number(mailbox), what))
  return {
    tell(mailbox, what) {
      here.tell(mailbox, what)
      word.tell(KINDS[what], String(mailbox))
    },
    listen: here.listen,
    lookEveryMs: LOOK_EVERY_MS,
  }
}
