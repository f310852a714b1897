/**
 * Configuration of a hub: one JSON file, `SVC_HUB_*` in the environment, flags, in rising order of strength. Strict: an
 * unknown member refuses the start.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import * as z from 'zod'
import { parseJson } from '../protocol/json.ts'
import { DAY_MS, defaultLimits, HOUR_MS, type Limits } from './core/limits.ts'

export const LISTEN_DEFAULT = '127.0.0.1:8088'
export const DATA_DIR_DEFAULT = './svc-hub-data'
const CONFIG_FILE = 'config.json'
const SECOND_MS = 1000
const PROBATION_HOURS_MAX = (30 * DAY_MS) / HOUR_MS
const MIB = 1024 * 1024
const GIB = 1024 * MIB

/** The hub can't start as it is configured; the sentence says what to change. */
export class ConfigRefused extends Error {
  override name = 'ConfigRefused'
}

const between = (min: number, max: number) => z.int().min(min).max(max).optional()

const limitsShape = z.strictObject({
  mailbox_envelopes: between(1, 10_000_000),
  mailbox_bytes: between(MIB, 1024 * GIB),
  stranger_per_minute: between(0, 100_000),
  stranger_envelopes: between(0, 10_000_000),
  stranger_bytes: between(0, 1024 * GIB),
  probation_hours: between(0, PROBATION_HOURS_MAX),
  pow_bits: between(22, 40),
  registrations_per_day: between(0, 1_000_000),
  session_quota: between(1, 1_000_000),
  bytes_in_flight: between(100 * MIB, 64 * GIB),
  held_polls: between(0, 1_000_000),
  connections: between(16, 1_000_000),
  store_bytes: between(16 * MIB, 1024 * GIB),
  body_bytes_per_second: between(1, MIB),
  body_grace_seconds: between(1, 600),
})

const fileShape = z.strictObject({
  listen: z.string().optional(),
  base_url: z.url({ protocol: /^https?$/ }).optional(),
  data_dir: z.string().optional(),
  wire: z.literal(3).optional(),
  limits: limitsShape.optional(),
})

export type Listen = { host: string; port: number }
export type Config = { listen: Listen; baseUrl: string | undefined; dataDir: string; limits: Limits }
/** What flags may say; all of it as text. */
export type ConfigFlags = {
  config?: string | undefined
  listen?: string | undefined
  dataDir?: string | undefined
  baseUrl?: string | undefined
  wire?: string | undefined
}

/** Reads the configuration of a run. */
export function readConfig(flags: ConfigFlags, env: Record<string, string | undefined>): Config {
  const hinted = flags.dataDir ?? env['SVC_HUB_DATA_DIR'] ?? DATA_DIR_DEFAULT
  const path = flags.config ?? env['SVC_HUB_CONFIG'] ?? join(hinted, CONFIG_FILE)
  const named = flags.config !== undefined || env['SVC_HUB_CONFIG'] !== undefined
  const file = readFile(path, named)
  checkWire(flags.wire ?? env['SVC_HUB_WIRE'])
  checkEnvironment(env)
  const baseUrl = flags.baseUrl ?? env['SVC_HUB_BASE_URL'] ?? file.base_url
  return {
    listen: parseListen(flags.listen ?? env['SVC_HUB_LISTEN'] ?? file.listen ?? LISTEN_DEFAULT),
    baseUrl: baseUrl === undefined ? undefined : parseBaseUrl(baseUrl),
    dataDir: resolve(flags.dataDir ?? env['SVC_HUB_DATA_DIR'] ?? file.data_dir ?? DATA_DIR_DEFAULT),
    limits: limitsOf(file.limits ?? {}),
  }
}

function readFile(path: string, named: boolean): z.infer<typeof fileShape> {
  if (!existsSync(path)) {
    if (named) throw new ConfigRefused(`the configuration ${path} does not exist; name another with --config`)
    return {}
  }
  const read = fileShape.safeParse(parseConfig(path))
  if (read.success) return read.data
  const [issue] = read.error.issues
  throw new ConfigRefused(
    `${path}: ${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is not accepted'}; correct it`,
  )
}

function parseConfig(path: string): unknown {
  try {
    return parseJson(readFileSync(path))
  } catch (error) {
    throw new ConfigRefused(`${path}: ${error instanceof Error ? error.message : String(error)}; correct it`)
  }
}

const KNOWN_ENVIRONMENT = [
  'SVC_HUB_CONFIG',
  'SVC_HUB_LISTEN',
  'SVC_HUB_DATA_DIR',
  'SVC_HUB_BASE_URL',
  'SVC_HUB_WIRE',
]

function checkEnvironment(env: Record<string, string | undefined>): void {
  for (const name of Object.keys(env)) {
    if (name.startsWith('SVC_HUB_') && !KNOWN_ENVIRONMENT.includes(name))
      throw new ConfigRefused(`${name} is no setting of svc-hub; known are ${KNOWN_ENVIRONMENT.join(', ')}`)
  }
}

function checkWire(wire: string | undefined): void {
  if (wire !== undefined && wire !== '3')
    throw new ConfigRefused(`this release serves wire 3, not wire ${wire}; leave --wire out`)
}

/** `host:port`, with an IPv6 host in brackets; port 0 takes a free one. */
export function parseListen(text: string): Listen {
  const parts = /^(?:\[([0-9a-fA-F:]+)\]|([^:\s]*)):([0-9]{1,5})$/.exec(text)
  const port = Number(parts?.[3])
  if (parts === null || port > 65_535)
    throw new ConfigRefused(`${text} is no listen address; write host:port`)
  const host = parts[1] ?? parts[2] ?? ''
  return { host: host === '' ? '0.0.0.0' : host, port }
}

function parseBaseUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:/.test(text))
    throw new ConfigRefused(`${text} is no base URL; write http(s)://host`)
  return text.replace(/\/+$/, '')
}

function limitsOf(given: z.infer<typeof limitsShape>): Limits {
  const d = defaultLimits
  return {
    ...d,
    mailboxEnvelopesMax: given.mailbox_envelopes ?? d.mailboxEnvelopesMax,
    mailboxBytesMax: given.mailbox_bytes ?? d.mailboxBytesMax,
    strangerPerMinute: given.stranger_per_minute ?? d.strangerPerMinute,
    strangerEnvelopesMax: given.stranger_envelopes ?? d.strangerEnvelopesMax,
    strangerBytesMax: given.stranger_bytes ?? d.strangerBytesMax,
    probationMs: given.probation_hours === undefined ? d.probationMs : given.probation_hours * HOUR_MS,
    powBits: given.pow_bits ?? d.powBits,
    registrationsPerDay: given.registrations_per_day ?? d.registrationsPerDay,
    sessionQuota: given.session_quota ?? d.sessionQuota,
    bytesInFlightMax: given.bytes_in_flight ?? d.bytesInFlightMax,
    heldPollsMax: given.held_polls ?? d.heldPollsMax,
    connectionsMax: given.connections ?? d.connectionsMax,
    storeBytesMax: given.store_bytes ?? d.storeBytesMax,
    bodyBytesPerSecondMin: given.body_bytes_per_second ?? d.bodyBytesPerSecondMin,
    bodyGraceMs:
      given.body_grace_seconds === undefined ? d.bodyGraceMs : given.body_grace_seconds * SECOND_MS,
  }
}
