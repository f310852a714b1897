/** What the page of the node shows first: what is wrong, what waits for a person, and what one day will be missed. */
import { span } from './ages.ts'
import { banners, type Face } from './faces.ts'
import { taskItems } from './rows.ts'
import type { View } from './state.ts'

const BACKUP_OLD_MS = 30 * 86_400_000

/** The worst first; none where nothing needs anybody. */
export function attention(view: View, now: number): Face[] {
  const faces = banners(view, now)
  const isBad = ({ tone }: Face) => tone === 'bad'
  return [
    ...faces.filter(isBad),
    ...waiting(view),
    ...faces.filter(face => !isBad(face)),
    ...backup(view, now),
  ]
}

const many = (n: number, one: string, more: string): string => (n === 1 ? `1 ${one}` : `${n} ${more}`)

/** Strangers, prices, and what nobody read. */
function waiting(view: View): Face[] {
  const { counts } = view.status ?? {}
  const faces: Face[] = []
  if (counts !== undefined && counts.pending > 0)
    faces.push({
      kind: 'waiting',
      tone: 'warn',
      says: many(
        counts.pending,
        'task of a stranger waits for your yes',
        'tasks of strangers wait for your yes',
      ),
      help: { says: 'Look', does: { to: 'screen', screen: 'inbox', waits: true } },
    })
  const prices = taskItems(view, 'sent', { pendingOnly: true }).length
  if (prices > 0)
    faces.push({
      kind: 'waiting',
      tone: 'warn',
      says: many(prices, 'price waits for your yes', 'prices wait for your yes'),
      help: { says: 'Look', does: { to: 'screen', screen: 'sent', waits: true } },
    })
  for (const [side, screen, says] of UNREAD) {
    const unread = counts?.[`unread_${side}`] ?? 0
    if (unread > 0)
      faces.push({
        kind: 'waiting',
        tone: 'wait',
        says: `${many(unread, 'task', 'tasks')} ${says} with something unread`,
        help: { says: 'Read', does: { to: 'screen', screen } },
      })
  }
  return faces
}

const UNREAD = [
  ['received', 'inbox', 'to you'],
  ['sent', 'sent', 'of yours'],
] as const

/** An identity without a copy ends with its disk. */
function backup({ status }: View, now: number): Face[] {
  if (status === undefined) return []
  const { backup_at: at, chain } = status
  const help = { says: 'Back up', does: { to: 'setting', id: 'backup' } } as const
  // there is something to lose from the first record on
  if (at === undefined)
    return chain.length === 0
      ? []
      : [
          {
            kind: 'no_backup',
            tone: 'wait',
            says: 'no backup is known: if this disk dies, your identity is gone with it',
            help,
          },
        ]
  const old = now - at
  return old < BACKUP_OLD_MS
    ? []
    : [{ kind: 'no_backup', tone: 'wait', says: `the last backup is ${span(old)} old`, help }]
}
