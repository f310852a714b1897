/**
 * Configuration of a hub: one JSON file, `SVC_HUB_*` in the environment, flags, in rising order of strength. Strict: an
 * unknown member refuses the start.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import * as z from 'zod'
import { parseJson } from '../protocol/encoding/json.ts'
import type { Limits } from './core/limits.ts'
import { limitsOf, limitsShape } from './limits-config.ts'

export const LISTEN_DEFAULT = '127.0.0.1:8088'
export const DATA_DIR_DEFAULT = './svc-hub-data'
const CONFIG_FILE = 'config.json'
const PORT_MAX = 65_535

/** Versions of the wire that a hub can be told to serve; the first where nothing is said. */
export const WIRES = [3] as const
export type Wire = (typeof WIRES)[number]

/** The hub can't start as it is configured; the sentence says what to change. */
export class ConfigRefused extends Error {
  override name = 'ConfigRefused'
}

const fileShape = z.strictObject({
  listen: z.string().optional(),
  base_url: z.string().optional(),
  data_dir: z.string().optional(),
  operator_listen: z.string().optional(),
  wire: z.literal(WIRES).optional(),
  limits: limitsShape.optional(),
})

export type Listen = { host: string; port: number }
export type Config = {
  wire: Wire
  listen: Listen
  baseUrl: string | undefined
  /** Address for figures and health; undefined leaves that listener off. */
  operatorListen?: Listen | undefined
  dataDir: string
  limits: Limits
}
/** What flags may say; all of it as text. */
export type ConfigFlags = {
  config?: string | undefined
  listen?: string | undefined
  dataDir?: string | undefined
  baseUrl?: string | undefined
  operatorListen?: string | undefined
  wire?: string | undefined
}

/** A setting as text, and where it was written, so that a refusal can name the place. */
type Given = { text: string; from: string }

/** Reads the configuration of a run. */
export function readConfig(flags: ConfigFlags, env: Record<string, string | undefined>): Config {
  checkEnvironment(env)
  const hinted = flags.dataDir ?? env['SVC_HUB_DATA_DIR'] ?? DATA_DIR_DEFAULT
  const path = flags.config ?? env['SVC_HUB_CONFIG'] ?? join(hinted, CONFIG_FILE)
  const named = flags.config !== undefined || env['SVC_HUB_CONFIG'] !== undefined
  const file = readFile(path, named)
  const strongest = (flag: string, name: string, member: string | undefined): Given | undefined =>
    [
      { text: flags[flag as keyof ConfigFlags], from: `--${name.replaceAll('_', '-')}` },
      { text: env[`SVC_HUB_${name.toUpperCase()}`], from: `SVC_HUB_${name.toUpperCase()}` },
      { text: member, from: `${path}: ${name}` },
    ].find((given): given is Given => given.text !== undefined)
  const wire = strongest('wire', 'wire', undefined)
  const listen = strongest('listen', 'listen', file.listen)
  const baseUrl = strongest('baseUrl', 'base_url', file.base_url)
  const operatorListen = strongest('operatorListen', 'operator_listen', file.operator_listen)
  const config: Config = {
    wire: wire === undefined ? (file.wire ?? WIRES[0]) : parseWire(wire),
    listen: parseListen(listen ?? { text: LISTEN_DEFAULT, from: 'default' }),
    baseUrl: baseUrl && parseBaseUrl(baseUrl),
    operatorListen: operatorListen && parseListen(operatorListen),
    dataDir: resolve(strongest('dataDir', 'data_dir', file.data_dir)?.text ?? DATA_DIR_DEFAULT),
    limits: limitsOf({ ...file.limits, ...limitsFrom(env['SVC_HUB_LIMITS']) }),
  }
  checkApart(config, operatorListen?.from ?? '')
  return config
}

function readFile(path: string, named: boolean): z.infer<typeof fileShape> {
  if (existsSync(path)) return accept(fileShape, () => readFileSync(path), path)
  if (named) throw new ConfigRefused(`the configuration ${path} does not exist; name another with --config`)
  return {}
}

function limitsFrom(text: string | undefined): z.infer<typeof limitsShape> {
  return text === undefined ? {} : accept(limitsShape, () => text, 'SVC_HUB_LIMITS')
}

/** JSON of a shape, or a refusal that names the place, the member and its bound. */
function accept<S extends z.ZodObject>(shape: S, read: () => string | Uint8Array, from: string): z.infer<S> {
  let value: unknown
  try {
    value = parseJson(read())
  } catch (error) {
    throw new ConfigRefused(`${from}: ${error instanceof Error ? error.message : String(error)}; correct it`)
  }
  const parsed = shape.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new ConfigRefused(`${from}: ${issue === undefined ? 'is not accepted; correct it' : fault(issue)}`)
}

function fault(issue: z.core.$ZodIssue): string {
  const member = issue.path.join('.')
  if (issue.code === 'unrecognized_keys')
    return `${[...issue.path, issue.keys[0]].join('.')} is no setting; remove it or correct its name`
  if (issue.code === 'too_small') return `${member} is too small; write ${issue.minimum} or more`
  if (issue.code === 'too_big') return `${member} is too large; write ${issue.maximum} or less`
  return `${member} is not accepted (${issue.message}); correct it`
}

const KNOWN_ENVIRONMENT = [
  'SVC_HUB_CONFIG',
  'SVC_HUB_LISTEN',
  'SVC_HUB_DATA_DIR',
  'SVC_HUB_BASE_URL',
  'SVC_HUB_OPERATOR_LISTEN',
  'SVC_HUB_WIRE',
  'SVC_HUB_LIMITS',
]

function checkEnvironment(env: Record<string, string | undefined>): void {
  for (const name of Object.keys(env)) {
    if (name.startsWith('SVC_HUB_') && !KNOWN_ENVIRONMENT.includes(name))
      throw new ConfigRefused(`${name} is no setting of svc-hub; known are ${KNOWN_ENVIRONMENT.join(', ')}`)
  }
}

function parseWire({ text, from }: Given): Wire {
  const known = WIRES.find(wire => String(wire) === text)
  if (known !== undefined) return known
  throw new ConfigRefused(
    `${from}: this release serves wire ${WIRES.join(' or ')}, not wire ${text}; leave the setting out`,
  )
}

/** `host:port`, with an IPv6 host in brackets; port 0 takes a free one. */
function parseListen({ text, from }: Given): Listen {
  const parts = /^(?:\[([0-9a-fA-F:]+)\]|([^:\s]*)):([0-9]{1,5})$/.exec(text)
  const port = Number(parts?.[3])
  if (parts === null || port > PORT_MAX)
    throw new ConfigRefused(
      `${from}: ${text} is no listen address; write host:port with a port of 0 to ${PORT_MAX}`,
    )
  const host = parts[1] ?? parts[2] ?? ''
  return { host: host === '' ? '0.0.0.0' : host, port }
}

function parseBaseUrl({ text, from }: Given): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const plain =
    url !== undefined && /^https?:$/.test(url.protocol) && `${url.search}${url.hash}${url.username}` === ''
  if (!plain) throw new ConfigRefused(`${from}: ${text} is no base URL; write http(s)://host`)
  return text.replace(/\/+$/, '')
}

function checkApart({ listen, operatorListen }: Config, from: string): void {
  if (operatorListen === undefined || operatorListen.port === 0) return
  if (operatorListen.host === listen.host && operatorListen.port === listen.port)
    throw new ConfigRefused(
      `${from}: the operator's listener can't share the hub's address; give it a port of its own`,
    )
}
