/** A bucket as a setting names it: where it is, and what opens it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { bucketOf } from './bucket-config.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-hub-bucket-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const keys = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'the secret' }
const read = (text: string, env: Record<string, string> = keys) => bucketOf({ text, from: '--files' }, env)
const SAID = '?endpoint=https://s3.example.org&region=eu-1'

test('its address says bucket, prefix, endpoint and region', () => {
  expect(read(`s3://mail/hub/one${SAID}`)).toMatchObject({
    ...{ bucket: 'mail', prefix: 'hub/one/', region: 'eu-1', endpoint: 'https://s3.example.org' },
  })
  expect(read(`s3://mail${SAID}`).prefix).toBe('')
})

test('endpoint and region stand in the environment where the address has none', () => {
  const env = { ...keys, AWS_REGION: 'eu-2' }
  expect(read('s3://mail', env).endpoint).toBe('https://s3.eu-2.amazonaws.com')
  expect(read('s3://mail', { ...env, AWS_ENDPOINT_URL_S3: 'https://s3.x' }).endpoint).toBe('https://s3.x')
})

test('credentials stand in the environment or in a file, which is read again for each call', () => {
  const file = join(folder, 'credentials')
  const write = (secret: string, before = '') =>
    writeFileSync(
      file,
      `${before}[default]\naws_access_key_id = id\naws_secret_access_key=${secret}\n[other]\n`,
    )
  write('one', '[other]\naws_secret_access_key = wrong\n')
  const { credentials } = read(`s3://mail${SAID}&credentials=${file}`, {})
  expect(credentials()).toEqual({ accessKeyId: 'id', secretAccessKey: 'one' })
  write('two')
  expect(credentials()).toEqual({ accessKeyId: 'id', secretAccessKey: 'two' })
  const named = read(`s3://mail${SAID}`, { AWS_SHARED_CREDENTIALS_FILE: file })
  expect(named.credentials().secretAccessKey).toBe('two')
  const given = read(`s3://mail${SAID}`, { ...keys, AWS_SESSION_TOKEN: 'token' })
  expect(given.credentials()).toMatchObject({ secretAccessKey: 'the secret', sessionToken: 'token' })
})

test.each([
  ['s3://', 'expected the address of a bucket'],
  ['s3://Mail_1', 'expected the address of a bucket'],
  ['s3://mail/a%20b', 'expected the address of a bucket'],
  [`s3://id:secret@mail${SAID}`, 'credentials do not belong into the address'],
  [`s3://mail${SAID}&acl=none`, 'unknown option of a bucket: acl'],
  ['s3://mail', 'the bucket has no region'],
  ['s3://mail?region=eu-1&endpoint=http://s3.example.org', 'is no https address'],
  ['s3://mail?region=eu-1&endpoint=https://s3.example.org/x', 'is no https address'],
  [`s3://mail${SAID}&credentials=/no/such/file`, '/no/such/file cannot be read', {}],
  [`s3://mail${SAID}`, 'there are no credentials', {}],
])('%s is refused: %s', (text, words, env = keys) => {
  const error = (() => {
    try {
      return String(read(text, env))
    } catch (thrown) {
      return String(thrown)
    }
  })()
  expect(error).toContain(`--files: `)
  expect(error).toContain(words)
  expect(error).not.toMatch(/id:secret|the secret/)
})
