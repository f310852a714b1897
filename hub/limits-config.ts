/** The settings under `limits`: each limit of the hub with its bounds, unit and meaning (hub API §8). */
import * as z from 'zod'
import { DAY_MS, defaultLimits, HOUR_MS, type Limits, POW_BITS_MIN } from './core/limits.ts'
import type { Rate } from './core/ports/rates.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const MINUTE_SECONDS = 60
const KIB = 1024
const MIB = 1024 * KIB
const GIB = 1024 * MIB
const MANY = 1_000_000

type Setting = {
  min: number
  max: number
  /** Where the value goes: a member of the limits, or one half of a rate. */
  read(limits: Limits): number | undefined
  write(limits: Limits, value: number): Limits
  meaning: string
}
type NumberName = { [N in keyof Limits]: Limits[N] extends Rate ? never : N }[keyof Limits]
type RateName = Exclude<keyof Limits, NumberName>

/** A limit that is one number; `unit` is what 1 of the setting means in the limit. */
function setting(name: NumberName, min: number, max: number, meaning: string, unit = 1): Setting {
  return {
    min,
    max,
    meaning,
    read: limits => {
      const value = limits[name]
      return value === undefined ? undefined : value / unit
    },
    write: (limits, value) => ({ ...limits, [name]: value * unit }),
  }
}

/** The two settings of a rate: how many a minute, and how many at once. */
function rate<P extends string>(prefix: P, name: RateName, meaning: string) {
  const perMinute: Setting = {
    min: 1,
    max: MANY,
    meaning: `${meaning}, a minute`,
    read: limits => limits[name].perSecond * MINUTE_SECONDS,
    write: (limits, value) => ({
      ...limits,
      [name]: { ...limits[name], perSecond: value / MINUTE_SECONDS },
    }),
  }
  const burst: Setting = {
    min: 1,
    max: MANY,
    meaning: `${meaning}, at once`,
    read: limits => limits[name].burst,
    write: (limits, value) => ({ ...limits, [name]: { ...limits[name], burst: value } }),
  }
  return { [`${prefix}_per_minute`]: perMinute, [`${prefix}_burst`]: burst }
}

/** Every setting by its name. */
export const limitSettings: Record<string, Setting> = {
  mailbox_envelopes: setting('mailboxEnvelopesMax', 1, 10 * MANY, 'envelopes waiting in one mailbox'),
  mailbox_bytes: setting('mailboxBytesMax', MIB, 1024 * GIB, 'bytes waiting in one mailbox'),
  open_mail_bytes: setting('openMailBytesMax', MIB, 1024 * GIB, 'bytes of all mail that the hub can read'),
  envelope_bytes: setting('envelopeBytesMax', 64 * KIB, 96 * MIB, 'bytes of one envelope'),
  envelope_days: setting('envelopeLifeMs', 1, 14, 'days an envelope waits at most', DAY_MS),
  queued_per_day: setting('queuedPerDayMax', 1, 1000, 'times one envelope is queued in a day'),
  delivery_days: setting('deliveryLifeMs', 1, 31, 'days a confirmation is kept', DAY_MS),
  delivery_fetched_hours: setting(
    'deliveryLifeFetchedMs',
    0,
    7 * 24,
    'hours a confirmation is kept once its sender has it',
    HOUR_MS,
  ),
  revocations: setting('revocationsMax', 1000, MANY, 'unexpired revocations of one mailbox'),
  revocation_days: setting('revocationLifeMs', 31, 365, 'days a revocation is kept', DAY_MS),
  stranger_per_minute: setting('strangerPerMinute', 0, 100_000, 'first contacts of one mailbox a minute'),
  stranger_envelopes: setting('strangerEnvelopesMax', 0, 10 * MANY, 'envelopes of non-contacts in a mailbox'),
  stranger_bytes: setting('strangerBytesMax', 0, 1024 * GIB, 'bytes of non-contacts in a mailbox'),
  sender_per_minute: setting('senderPerMinuteMax', 1, 100_000, 'of these a minute, from one sender'),
  sender_waiting: setting('senderWaitingMax', 1, MANY, 'of these waiting, from one sender'),
  probation_hours: setting('probationMs', 0, 30 * 24, 'hours until a new account may review', HOUR_MS),
  review_days: setting('reviewWindowMs', 1, 30, 'days after its end that a task can be reviewed', DAY_MS),
  trial_credits: setting('trialCredits', 0, MANY, 'credits that a new account is given'),
  trial_budget: setting(
    'trialBudget',
    0,
    1000 * MANY,
    'of these, in a UTC day; accounts that came by work wait then',
  ),
  pow_bits: setting('powBits', POW_BITS_MIN, 40, 'leading zero bits of the work for a registration'),
  registrations_per_day: setting(
    'registrationsPerDay',
    0,
    MANY,
    'sign-ups of one address range (/24, /48) a day',
  ),
  session_quota: setting('sessionQuota', 1, MANY, 'sends of one agent under sessions a day'),
  sessions_per_minute: setting('sessionsPerMinute', 1, MANY, 'sessions that one agent opens a minute'),
  sessions_per_agent: setting(
    'sessionsPerAgentMax',
    1,
    1000,
    'sessions one agent has open; one more ends the oldest',
  ),
  session_minutes: setting('sessionLifeMs', 1, 24 * 60, 'minutes a session lasts', MINUTE_MS),
  bytes_in_flight: setting('bytesInFlightMax', 100 * MIB, 64 * GIB, 'bytes of envelopes on their way in'),
  open_mail_bytes_in_flight: setting(
    'openMailBytesInFlightMax',
    MIB,
    64 * GIB,
    'bytes of mail on its way in that the hub can read',
  ),
  json_bytes_in_flight: setting(
    'jsonBytesInFlightMax',
    8 * MIB,
    GIB,
    'bytes of all other bodies on their way in; when they are reached, the one that held most for longest gives way',
  ),
  held_polls: setting('heldPollsMax', 0, MANY, 'polls that wait for mail, of all agents'),
  poll_wait_seconds: setting('pollWaitSecondsMax', 0, 55, 'seconds a poll waits for mail'),
  verifications: setting('verificationsMax', 1, MANY, 'signature checks under way'),
  connections: setting('connectionsMax', 16, MANY, 'open connections'),
  connections_per_address: setting(
    'connectionsPerAddressMax',
    4,
    MANY,
    'of these, connections of one address',
  ),
  body_bytes_per_second: setting('bodyBytesPerSecondMin', 1, MIB, 'bytes a second below which a body is cut'),
  body_grace_seconds: setting('bodyGraceMs', 1, 600, 'seconds before that is looked at', SECOND_MS),
  store_bytes: setting(
    'storeBytesMax',
    16 * MIB,
    1024 * GIB,
    'bytes of the database file; unlimited without',
  ),
  ...rate('key_events', 'keyEventRate', 'new key events verified for one AID, and for one address'),
  ...rate(
    'request',
    'requestRate',
    'requests of one address, wrong ones too; a listing counts as five, each 64 KiB of a JSON body as one more',
  ),
  ...rate('status', 'statusRate', 'status queries of one address'),
  ...rate('push', 'pushRate', 'pushed key histories of one address'),
  ...rate('bucket', 'bucketRate', 'directory buckets for one address'),
  ...rate('check', 'checkRate', 'registrations with check_only of one address'),
  ...rate('peer', 'peerRate', 'requests of one peer hub'),
  ...rate('revoke', 'revokeRate', 'revocation requests of one agent'),
}

export const limitsShape = z.strictObject(
  Object.fromEntries(
    Object.entries(limitSettings).map(([name, { min, max }]) => [name, z.int().min(min).max(max).optional()]),
  ),
)

/** The limits as the operator set them, over the defaults. */
export function limitsOf(given: z.infer<typeof limitsShape>): Limits {
  let limits = defaultLimits
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined) limits = limitSettings[name]?.write(limits, value) ?? limits
  }
  return limits
}

/** docs/limits.md: every setting with its default and its bounds. */
export function limitsDocument(): string {
  const rows = Object.entries(limitSettings).map(([name, { min, max, read, meaning }]) => {
    return `| \`${name}\` | ${meaning} | ${read(defaultLimits) ?? '–'} | ${min} | ${max} |`
  })
  return [
    '# Limits of a hub',
    '',
    'Members of `limits` in the configuration; printed from `hub/limits-config.ts` by `npm run -s docs`. An address is one IPv4 address or one IPv6 /64; requests from the machine itself count towards no bucket of all requests. `svc-hub quota` raises the room of one mailbox.',
    '',
    '| Setting | Limits | Default | Least | Most |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}
