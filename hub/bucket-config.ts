/**
 * The bucket with the long mail of a hub: `s3://bucket/prefix?endpoint=https://s3.example.org&region=eu-1`. Endpoint, region
 * and credentials are otherwise those of the environment, under the names that every S3 program reads.
 */
import { readFileSync } from 'node:fs'
import { systemCode, systemFault } from '../protocol/encoding/errors.ts'
import { present } from '../protocol/encoding/present.ts'
import { ConfigRefused, type Given } from './config-refused.ts'
import type { S3Credentials, S3Options } from './store/blobs/s3-calls.ts'

/** `credentialsFile`: where its credentials are read from. */
export type BucketPlace = Pick<S3Options, 'endpoint' | 'region' | 'bucket' | 'prefix' | 'credentials'> & {
  credentialsFile?: string | undefined
}
type Environment = Record<string, string | undefined>

const FORM = 'write it as s3://bucket/prefix?endpoint=https://s3.example.org&region=eu-1'
const OPTIONS = ['endpoint', 'region', 'credentials']
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const LOOPBACK = /^(?:127\.[0-9.]+|\[::1\]|localhost)$/
const PREFIX = /^(?:[A-Za-z0-9._-]+\/)*$/

export const isBucket = (text: string): boolean => text.startsWith('s3:')

export function bucketOf({ text, from }: Given, env: Environment): BucketPlace {
  const url = URL.parse(text)
  const path = url?.pathname.replace(/^\//, '').replace(/\/*$/, '/').replace(/^\/$/, '')
  if (url === null || path === undefined || !BUCKET.test(url.hostname) || !PREFIX.test(path))
    throw new ConfigRefused(`${from}: expected the address of a bucket`, FORM)
  if (url.username !== '' || url.password !== '')
    throw new ConfigRefused(`${from}: credentials do not belong into the address of a bucket`, GIVE)
  const unknown = [...url.searchParams.keys()].find(name => !OPTIONS.includes(name))
  if (unknown !== undefined)
    throw new ConfigRefused(`${from}: unknown option of a bucket: ${unknown}`, `use ${OPTIONS.join(', ')}`)
  const region = url.searchParams.get('region') ?? env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'] ?? ''
  if (!/^[a-z0-9-]+$/.test(region))
    throw new ConfigRefused(`${from}: the bucket has no region`, 'add ?region=… or set AWS_REGION')
  const endpoint =
    url.searchParams.get('endpoint') ??
    env['AWS_ENDPOINT_URL_S3'] ??
    env['AWS_ENDPOINT_URL'] ??
    `https://s3.${region}.amazonaws.com`
  const file = url.searchParams.get('credentials') ?? env['AWS_SHARED_CREDENTIALS_FILE']
  const credentials = credentialsFrom(file, env, from)
  credentials()
  const isInFile = env['AWS_ACCESS_KEY_ID'] === undefined || env['AWS_SECRET_ACCESS_KEY'] === undefined
  return {
    ...{ endpoint: endpointOf(endpoint, from), region },
    bucket: url.hostname,
    prefix: path,
    credentials,
    credentialsFile: isInFile ? file : undefined,
  }
}

/** Mail goes over it, so it is encrypted wherever it leaves this machine. */
function endpointOf(text: string, from: string): string {
  const url = URL.parse(text)
  const isPlain = url?.protocol === 'http:' && LOOPBACK.test(url.hostname)
  if (url !== null && url.pathname === '/' && (url.protocol === 'https:' || isPlain)) return url.origin
  throw new ConfigRefused(
    `${from}: the endpoint of the bucket is no https address of scheme, host and port`,
    'write it as https://s3.example.org',
  )
}

const GIVE =
  'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a credentials file with AWS_SHARED_CREDENTIALS_FILE'

/** Read again for each call where they lie in a file, so that they may change. */
function credentialsFrom(file: string | undefined, env: Environment, from: string): () => S3Credentials {
  const [accessKeyId, secretAccessKey] = [env['AWS_ACCESS_KEY_ID'], env['AWS_SECRET_ACCESS_KEY']]
  if (accessKeyId !== undefined && secretAccessKey !== undefined) {
    const given = { accessKeyId, secretAccessKey, ...present({ sessionToken: env['AWS_SESSION_TOKEN'] }) }
    return () => given
  }
  if (file === undefined) throw new ConfigRefused(`${from}: there are no credentials for the bucket`, GIVE)
  return () => credentialsIn(file, from)
}

/** The profile `default` of a file as the AWS programs have it. */
function credentialsIn(path: string, from: string): S3Credentials {
  const lines = textOf(path, from).split(/\r?\n/)
  const profile = lines.findIndex(line => /^\s*\[default\]\s*$/.test(line)) + 1
  const next = lines.findIndex((line, at) => at >= profile && /^\s*\[/.test(line))
  const members = lines.slice(profile, next === -1 ? undefined : next).flatMap(line => {
    const [, name, value] = /^\s*(\w+)\s*=\s*(\S+)\s*$/.exec(line) ?? []
    return name === undefined || value === undefined ? [] : [[name, value] as const]
  })
  const found = new Map(members)
  const [accessKeyId, secretAccessKey] = [found.get('aws_access_key_id'), found.get('aws_secret_access_key')]
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new ConfigRefused(
      `${from}: ${path} has no aws_access_key_id and aws_secret_access_key under [default]`,
      'write both there',
    )
  return { accessKeyId, secretAccessKey, ...present({ sessionToken: found.get('aws_session_token') }) }
}

function textOf(path: string, from: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const why = systemFault(systemCode(error) ?? '')
    throw new ConfigRefused(`${from}: ${path} cannot be read: ${why}`, 'name another file')
  }
}
