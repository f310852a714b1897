/**
 * What a person can set at a node, once, as data: both screens draw their forms and questions from this table, and a test
 * holds each row to the shape of its operation. Nothing here knows a terminal or a page.
 */
import { answering } from './settings/answering.ts'
import { credits } from './settings/credits.ts'
import { hub } from './settings/hub.ts'
import { keeping } from './settings/keeping.ts'
import { people } from './settings/people.ts'
import { profile } from './settings/profile.ts'
import type { Setting } from './settings/setting.ts'

export const settings: readonly Setting[] = [
  ...answering,
  ...people,
  ...profile,
  ...credits,
  ...hub,
  ...keeping,
]

/** The row of an id; one that no row has is a mistake in a screen. */
export function settingOf(id: string): Setting {
  const row = settings.find(one => one.id === id)
  if (row === undefined) throw new Error(`there is no setting ${id}`)
  return row
}
