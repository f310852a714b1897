/** Visitors without keys: the hub that this node is registered at delegates for them under its own key. */
import type { Config } from '../home/config.ts'
import type { CurrentHub } from '../hubs/current.ts'

/** Tasks of visitors that may begin in an hour. */
export const GUEST_TASKS_MAX = 100
export const GUEST_TASKS_WITHIN_MS = 3_600_000

/** The AID of the hub that delegates for visitors; undefined at one that does not. */
export const guestHub = ({ home }: Pick<CurrentHub, 'home'>): string | undefined =>
  home?.openMail === undefined ? undefined : home.identity.aid

/** The same where the auto-reply of this node answers them. */
export const guestsOf = (config: Config, hub: Pick<CurrentHub, 'home'>): string | undefined =>
  config.auto_reply?.guests === true ? guestHub(hub) : undefined
