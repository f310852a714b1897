/**
 * The keys of both screens, once: help, hint bars and tests read this table. A key is one character or a name that both
 * know (`enter`, `esc`, `up`, `down`, `tab`); what the table lacks a screen does not take.
 */
import { type Screen, screens } from './rows.ts'

export type KeyAct =
  | 'screen'
  | 'next_screen'
  | 'down'
  | 'up'
  | 'first'
  | 'last'
  | 'open'
  | 'back'
  | 'filter'
  | 'needs_only'
  | 'reply'
  | 'approve'
  | 'decline'
  | 'end'
  | 'accept_end'
  | 'verify'
  | 'review'
  | 'save'
  | 'delegate'
  | 'copy'
  | 'refresh'
  | 'test_auto_reply'
  | 'toggle_accept'
  | 'help'

/** `tasks` stands for a row of the first two screens and for the open thread. */
export type Place = 'everywhere' | 'tasks' | Screen

export type KeyRow = {
  readonly keys: readonly string[]
  readonly act: KeyAct
  /** What it does, as help says it. */
  readonly does: string
  readonly place: Place
}

const row = (place: Place, keys: string, act: KeyAct, does: string): KeyRow => ({
  place,
  keys: keys.split(' '),
  act,
  does,
})

export const keyRows: readonly KeyRow[] = [
  row('everywhere', screens.map((_, i) => i + 1).join(' '), 'screen', 'the five screens'),
  row('everywhere', 'tab', 'next_screen', 'the next screen'),
  row('everywhere', 'j down', 'down', 'down'),
  row('everywhere', 'k up', 'up', 'up'),
  row('everywhere', 'g', 'first', 'to the first row'),
  row('everywhere', 'G', 'last', 'to the last row'),
  row('everywhere', 'enter', 'open', 'open'),
  row('everywhere', 'esc', 'back', 'back'),
  row('everywhere', '/', 'filter', 'filter, or search'),
  row('everywhere', 'y', 'copy', 'copy the id'),
  row('everywhere', 'R', 'refresh', 'ask the node for everything anew'),
  row('everywhere', '?', 'help', 'these keys'),
  row('tasks', 'p', 'needs_only', 'only what wants something of you'),
  row('tasks', 'r', 'reply', 'reply'),
  row('tasks', 'a', 'approve', 'take a task or pay, after a question'),
  row('tasks', 'D', 'decline', 'decline, after a question'),
  row('tasks', 'e', 'end', 'propose to end, after a question'),
  row('tasks', 'A', 'accept_end', 'agree to end'),
  row('tasks', 's', 'save', 'save the files'),
  row('tasks', 'v', 'verify', 'verify the receipt'),
  row('tasks', '*', 'review', 'rate, 1 to 5'),
  row('agents', 'd', 'delegate', 'hand over a task'),
  row('node', 't', 'test_auto_reply', 'try the auto-reply'),
  row('node', 'T', 'toggle_accept', 'take tasks, or not, after a question'),
]

/** What this key does on a screen; nothing where it does nothing there. */
export function actOf(key: string, screen: Screen): KeyAct | undefined {
  return keysOf(screen).find(({ keys }) => keys.includes(key))?.act
}

/** The keys of a screen, its own first. */
export function keysOf(screen: Screen): KeyRow[] {
  const isTasks = screen === 'inbox' || screen === 'sent'
  const own = keyRows.filter(({ place }) => place === screen || (place === 'tasks' && isTasks))
  return [...own, ...keyRows.filter(({ place }) => place === 'everywhere')]
}
