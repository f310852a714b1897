/** Visitors without keys: the hub that this node is registered at delegates for them under its own key. */
import type { Config } from '../home/config.ts'
import type { CurrentHub } from '../hubs/current.ts'

/** Tasks of visitors that may begin in an hour. */
export const GUEST_TASKS_MAX = 100
export const GUEST_TASKS_WITHIN_MS = 3_600_000

/** The AID of the hub whose visitors this node answers; undefined where it answers none. */
export function guestsOf(config: Config, { home }: Pick<CurrentHub, 'home'>): string | undefined {
  const isOn = config.auto_reply?.guests === true
  return isOn && home?.openMail !== undefined ? home.identity.aid : undefined
}
