/**
 * Configuration of a hub: one JSON file, `SVC_HUB_*` in the environment, flags, in rising order of strength. Strict: an
 * unknown member refuses the start.
 */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import * as z from 'zod'
import { Malformed } from '../protocol/encoding/bytes.ts'
import { systemCode, systemFault } from '../protocol/encoding/errors.ts'
import { parseJson } from '../protocol/encoding/json.ts'
import { aboutFrom, aboutShape, aboutVariables } from './about-config.ts'
import { checkpointShape, logWitnessesOf } from './checkpoint-config.ts'
import { ConfigRefused, type Given } from './config-refused.ts'
import type { About } from './core/about.ts'
import type { Limits } from './core/limits.ts'
import type { LogWitness } from './core/supply/checkpoints.ts'
import { givingBack, isOwn, ownerOf } from './files.ts'
import { limitsOf, limitsShape } from './limits-config.ts'
import {
  type AdminPlace,
  adminOf,
  checkApart,
  checkFederation,
  checkGuests,
  type DatabasePlace,
  databaseOf,
  federationOf,
  isOn,
  type Listen,
  type Place,
  parseBaseUrl,
  parseListen,
  switchText,
  wire1Of,
} from './places-config.ts'

export const LISTEN_DEFAULT = '127.0.0.1:8088'
export const DATA_DIR_DEFAULT = './svc-hub-data'
export const CONFIG_FILE = 'config.json'

/** Versions of the wire that a hub can be told to serve; the first where nothing is said. */
export const WIRES = [3, 1] as const
export type Wire = (typeof WIRES)[number]

const fileShape = z.strictObject({
  listen: z.string().optional(),
  base_url: z.string().optional(),
  data_dir: z.string().optional(),
  operator_listen: z.string().optional(),
  admin_listen: z.string().optional(),
  admin_base: z.string().optional(),
  docs: z.string().optional(),
  store: z.string().optional(),
  store_listen: z.string().optional(),
  store_password_file: z.string().optional(),
  files: z.string().optional(),
  wire: z.literal(WIRES).optional(),
  wire1_listen: z.string().optional(),
  wire1_base_url: z.string().optional(),
  guests: z.boolean().optional(),
  wire1_federation: z.boolean().optional(),
  wire1_discovery: z.boolean().optional(),
  ...aboutShape,
  ...checkpointShape,
  limits: limitsShape.optional(),
})

export type Config = Place & {
  /** The wires of its listener; a request that says nothing is for the first. */
  wires: readonly [Wire, ...Wire[]]
  /** A listener beside it that speaks wire 1 alone. */
  wire1?: Place | undefined
  /** Whether people without keys may write to its agents, over wire 1. */
  guests?: boolean
  /** Mail of wire 1 crosses to peers; `tells`: anybody may read who is here. Undefined: it stays at this hub. */
  wire1Federation?: { tells: boolean } | undefined
  /** Address for figures and health; undefined leaves that listener off. */
  operatorListen?: Listen | undefined
  /** The operator's surface of wire 1; undefined leaves it off. */
  admin?: AdminPlace | undefined
  dataDir: string
  /** The database with its rows; undefined: they lie in the data directory. */
  database?: DatabasePlace | undefined
  /** Folder of the site that `npm run docs:site` made, to be served; undefined serves none. */
  docs?: string | undefined
  about?: About
  /** Witnesses of transparency logs, to which checkpoints are offered. */
  checkpointWitnesses?: LogWitness[]
  limits: Limits
  /** What was given outside the data directory, by name: files, variables, flags. A backup does not hold it. */
  outside?: string[]
}
/** What flags may say; all of it as text. */
export type ConfigFlags = {
  config?: string | undefined
  listen?: string | undefined
  dataDir?: string | undefined
  baseUrl?: string | undefined
  operatorListen?: string | undefined
  adminListen?: string | undefined
  adminBase?: string | undefined
  docs?: string | undefined
  store?: string | undefined
  storeListen?: string | undefined
  storePasswordFile?: string | undefined
  files?: string | undefined
  wire?: string | undefined
  wire1Listen?: string | undefined
  wire1BaseUrl?: string | undefined
  guests?: string | undefined
  wire1Federation?: string | undefined
  wire1Discovery?: string | undefined
}

/** Reads the configuration of a run. */
export function readConfig(flags: ConfigFlags, env: Record<string, string | undefined>): Config {
  checkEnvironment(env)
  const hinted = flags.dataDir ?? env['SVC_HUB_DATA_DIR'] ?? DATA_DIR_DEFAULT
  const path = flags.config ?? env['SVC_HUB_CONFIG'] ?? join(hinted, CONFIG_FILE)
  const named = flags.config !== undefined || env['SVC_HUB_CONFIG'] !== undefined
  const file = readFile(path, named)
  const strongest = strongestOf({ flags, env, path })
  const wire = strongest('wire', 'wire', undefined)
  const listen = strongest('listen', 'listen', file.listen)
  const baseUrl = strongest('baseUrl', 'base_url', file.base_url)
  const operatorListen = strongest('operatorListen', 'operator_listen', file.operator_listen)
  const adminListen = strongest('adminListen', 'admin_listen', file.admin_listen)
  const adminBase = strongest('adminBase', 'admin_base', file.admin_base)
  const docs = strongest('docs', 'docs', file.docs)
  const store = strongest('store', 'store', file.store)
  const storeListen = strongest('storeListen', 'store_listen', file.store_listen)
  const passwordFile = strongest('storePasswordFile', 'store_password_file', file.store_password_file)
  const files = strongest('files', 'files', file.files)
  const wire1Listen = strongest('wire1Listen', 'wire1_listen', file.wire1_listen)
  const wire1BaseUrl = strongest('wire1BaseUrl', 'wire1_base_url', file.wire1_base_url)
  const guests = strongest('guests', 'guests', switchText(file.guests))
  const federation = strongest('wire1Federation', 'wire1_federation', switchText(file.wire1_federation))
  const discovery = strongest('wire1Discovery', 'wire1_discovery', switchText(file.wire1_discovery))
  const config: Config = {
    wires: [wire === undefined ? (file.wire ?? WIRES[0]) : parseWire(wire)],
    listen: parseListen(listen ?? { text: LISTEN_DEFAULT, from: 'default' }),
    baseUrl: baseUrl && parseBaseUrl(baseUrl),
    wire1: wire1Of(wire1Listen, wire1BaseUrl),
    guests: isOn(guests),
    wire1Federation: federationOf(federation, discovery),
    operatorListen: operatorListen && parseListen(operatorListen),
    admin: adminOf(adminListen, adminBase),
    dataDir: resolve(strongest('dataDir', 'data_dir', file.data_dir)?.text ?? DATA_DIR_DEFAULT),
    database: databaseOf(store, { listen: storeListen, passwordFile, files }, env),
    docs: docs && resolve(docs.text),
    about: aboutFrom(env, file, path),
    checkpointWitnesses: logWitnessesOf(file.checkpoint_witnesses, path),
    limits: limitsOf({ ...file.limits, ...limitsFrom(env['SVC_HUB_LIMITS']) }),
  }
  checkGuests(config, guests?.from ?? '')
  checkFederation(config, federation?.from ?? '')
  checkApart(config, {
    operator: operatorListen?.from ?? '',
    wire1: wire1Listen?.from ?? '',
    admin: adminListen?.from ?? '',
  })
  return { ...config, outside: outsideOf(config.dataDir, path, { flags, env }) }
}

type Places = { flags: ConfigFlags; env: Record<string, string | undefined>; path: string }

/** What is said of a setting, and where: the flag before the variable before the member of the file. */
const strongestOf =
  ({ flags, env, path }: Places) =>
  (flag: keyof ConfigFlags, name: string, member: string | undefined): Given | undefined => {
    const said: (Omit<Given, 'text'> & { text: string | undefined })[] = [
      { text: flags[flag], from: `--${name.replaceAll('_', '-')}` },
      { text: env[`SVC_HUB_${name.toUpperCase()}`], from: `SVC_HUB_${name.toUpperCase()}` },
      { text: member, from: `${path}: ${name}`, file: path },
    ]
    return said.find((given): given is Given => given.text !== undefined)
  }

/** The data directory as far as it is known without a configuration file. */
export function placeOf(flags: ConfigFlags, env: Record<string, string | undefined>): string | undefined {
  const given = flags.dataDir ?? env['SVC_HUB_DATA_DIR']
  const isFileElsewhere = (flags.config ?? env['SVC_HUB_CONFIG']) !== undefined
  return given ?? (isFileElsewhere ? undefined : DATA_DIR_DEFAULT)
}

/** What holds in a data directory where nothing is said. */
export const usualConfig = (dataDir: string): Config => ({
  wires: [WIRES[0]],
  listen: parseListen({ text: LISTEN_DEFAULT, from: 'default' }),
  baseUrl: undefined,
  dataDir: resolve(dataDir),
  limits: limitsOf({}),
})

/** These say where the hub is, not how it is to be. */
const PLACES = ['SVC_HUB_DATA_DIR', 'SVC_HUB_CONFIG']
const FLAGS: [member: keyof ConfigFlags, flag: string][] = [
  ['listen', '--listen'],
  ['baseUrl', '--base-url'],
  ['operatorListen', '--operator-listen'],
  ['adminListen', '--admin-listen'],
  ['adminBase', '--admin-base'],
  ['docs', '--docs'],
  ['store', '--store'],
  ['storeListen', '--store-listen'],
  ['storePasswordFile', '--store-password-file'],
  ['files', '--files'],
  ['wire', '--wire'],
  ['wire1Listen', '--wire1-listen'],
  ['wire1BaseUrl', '--wire1-base-url'],
  ['guests', '--guests'],
  ['wire1Federation', '--wire1-federation'],
  ['wire1Discovery', '--wire1-discovery'],
]

type Sources = { flags: ConfigFlags; env: Record<string, string | undefined> }

/** Names only: a setting may hold what a backup, or a terminal, should not show. */
function outsideOf(dataDir: string, path: string, { flags, env }: Sources): string[] {
  const isInside = resolve(path) === join(dataDir, CONFIG_FILE)
  return [
    ...(existsSync(path) && !isInside ? [resolve(path)] : []),
    ...KNOWN_ENVIRONMENT.filter(name => env[name] !== undefined && !PLACES.includes(name)),
    ...FLAGS.filter(([member]) => flags[member] !== undefined).map(([, flag]) => flag),
  ]
}

function readFile(path: string, named: boolean): z.infer<typeof fileShape> {
  // In a directory that can't be entered none is seen; whatever opens the directory refuses that.
  return named || existsSync(path) ? accept(fileShape, () => readFileSync(path), path) : {}
}

const NAME_ANOTHER = 'name another with --config'

/** Why the system did not let a configuration file be read. */
function unreadable(path: string, code: string): ConfigRefused {
  switch (code) {
    case 'ENOENT':
      return new ConfigRefused(`the configuration file ${path} does not exist`, NAME_ANOTHER)
    case 'EISDIR':
      return new ConfigRefused(`the configuration file ${path} is a folder`, 'name a file with --config')
    case 'EACCES':
    case 'EPERM':
      return forbidden(path)
    default:
      return new ConfigRefused(`${path}: cannot be read: ${systemFault(code)}`, NAME_ANOTHER)
  }
}

/** A file of another user in a directory of this one is what a command run as root left there. */
function forbidden(path: string): ConfigRefused {
  const found = `this user cannot read ${path}`
  const folder = dirname(resolve(path))
  const owner = ownerOf(path)
  if (owner === undefined) return new ConfigRefused(`${found}: permission denied`, NAME_ANOTHER)
  if (isOwn(path)) return new ConfigRefused(`${found}, although it belongs to it`, `chmod u+r ${path}`)
  return new ConfigRefused(
    `${found}, which belongs to user ${owner}`,
    ownerOf(folder) === process.geteuid?.()
      ? givingBack(folder)
      : `let this user read it, or ${NAME_ANOTHER}`,
  )
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
    const code = systemCode(error)
    if (code !== undefined) throw unreadable(from, code)
    if (!(error instanceof Malformed)) throw error
    throw new ConfigRefused(`${from}: not valid JSON: ${error.message}`, 'correct it')
  }
  const parsed = shape.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw fault(from, issue)
}

function fault(from: string, issue: z.core.$ZodIssue | undefined): ConfigRefused {
  const member = issue?.path.join('.') ?? ''
  switch (issue?.code) {
    case 'unrecognized_keys':
      return new ConfigRefused(
        `${from}: unknown setting: ${[...issue.path, issue.keys[0]].join('.')}`,
        'remove it or correct its name',
      )
    case 'too_small':
      return new ConfigRefused(`${from}: ${member} is too small`, `use ${issue.minimum} or more`)
    case 'too_big':
      return new ConfigRefused(`${from}: ${member} is too large`, `use ${issue.maximum} or less`)
    case 'invalid_value':
      return new ConfigRefused(
        `${from}: ${member} has a value that is not supported`,
        `use ${issue.values.join(' or ')}`,
      )
    case 'invalid_type':
      return new ConfigRefused(
        `${from}: ${member === '' ? '' : `${member} `}must be ${kinds[issue.expected] ?? 'of another type'}`,
        'correct it',
      )
    default:
      return new ConfigRefused(`${from}: ${member} has a value that is not supported`, 'correct it')
  }
}

/** Types of JSON values in words. */
const kinds: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
}

const KNOWN_ENVIRONMENT = [
  'SVC_HUB_CONFIG',
  'SVC_HUB_LISTEN',
  'SVC_HUB_DATA_DIR',
  'SVC_HUB_BASE_URL',
  'SVC_HUB_OPERATOR_LISTEN',
  'SVC_HUB_ADMIN_LISTEN',
  'SVC_HUB_ADMIN_BASE',
  'SVC_HUB_DOCS',
  'SVC_HUB_STORE',
  'SVC_HUB_STORE_LISTEN',
  'SVC_HUB_STORE_PASSWORD_FILE',
  'SVC_HUB_FILES',
  'SVC_HUB_WIRE',
  'SVC_HUB_WIRE1_LISTEN',
  'SVC_HUB_WIRE1_BASE_URL',
  'SVC_HUB_GUESTS',
  'SVC_HUB_WIRE1_FEDERATION',
  'SVC_HUB_WIRE1_DISCOVERY',
  ...aboutVariables,
  'SVC_HUB_LIMITS',
]

function checkEnvironment(env: Record<string, string | undefined>): void {
  for (const name of Object.keys(env)) {
    if (name.startsWith('SVC_HUB_') && !KNOWN_ENVIRONMENT.includes(name))
      throw new ConfigRefused(`unknown setting: ${name}`, `known settings: ${KNOWN_ENVIRONMENT.join(', ')}`)
  }
}

function parseWire({ text, from }: Given): Wire {
  const known = WIRES.find(wire => String(wire) === text)
  if (known !== undefined) return known
  throw new ConfigRefused(
    `${from}: this release serves wire ${WIRES.join(' or ')}, not wire ${text}`,
    'leave the setting out',
  )
}
