#!/usr/bin/env node
/** Cameras that give a picture over HTTP, and name a stream. README.md has the settings. */
import { readFileSync } from 'node:fs'
import { givenPaths, Link, Unavailable } from '../link/link.mjs'
import { authorizationFor } from './login.mjs'

const TIMEOUT_MS = 5000
const POLL_MS = 5000
/** What a node takes. */
const PICTURE_BYTES_MAX = 2 * 1024 * 1024
const MEDIA_TYPE = /^image\/[\w.+-]{1,63}$/

const { settings: file, path } = givenPaths('node camera.mjs')
const { cameras, poll_ms: pollMs = POLL_MS } = JSON.parse(readFileSync(file, 'utf8'))
const byName = new Map(cameras.map(camera => [camera.device, { ...camera, isSeen: false }]))
const link = new Link({ path, name: 'camera', serve: { read } })

/** A camera is described once it gave a picture; from then on it is online or not. */
async function look(camera) {
  const isThere = await pictureOf(camera).then(
    () => true,
    error => !(error instanceof Unavailable),
  )
  if (isThere && !camera.isSeen) describe(camera)
  else link.state(camera.device, isThere)
}

function describe(camera) {
  camera.isSeen = true
  const { device, name, vendor, model, stream } = camera
  const said = Object.fromEntries(
    Object.entries({ name, vendor, model }).filter(([, text]) => text !== undefined),
  )
  const capabilities = [{ capability: 'snapshot', access: ['read'], kind: 'snapshot' }]
  if (stream !== undefined) capabilities.push({ capability: 'stream', access: ['read'], kind: 'stream' })
  link.describe({
    device,
    protocol: 'camera',
    verify_trust: 2,
    auth_trust: 0,
    online: true,
    ...said,
    capabilities,
  })
}

async function read(device, capability) {
  const camera = byName.get(device)
  if (capability === 'stream' && camera?.stream !== undefined) return { stream: camera.stream }
  if (capability !== 'snapshot' || camera === undefined) throw new Error(`${device} has no ${capability}`)
  try {
    return { snapshot: await pictureOf(camera), native_ack: true }
  } catch (error) {
    if (error instanceof Unavailable) link.state(device, false)
    throw error
  }
}

async function pictureOf(camera) {
  const { timeout_ms: timeoutMs = TIMEOUT_MS } = camera
  const signal = AbortSignal.timeout(timeoutMs)
  let response
  try {
    response = await ask(camera, signal)
    if (!response.ok) throw new Refused(`the camera answered HTTP ${response.status}`)
    const media_type = (response.headers.get('content-type') ?? '').split(';')[0].trim().toLowerCase()
    if (!MEDIA_TYPE.test(media_type)) throw new Refused('the camera answered with no picture')
    return { media_type, content: (await bytesOf(response)).toString('base64') }
  } catch (error) {
    await response?.body?.cancel().catch(() => {})
    if (error instanceof Refused) throw error
    if (signal.aborted) throw new Unavailable(`no picture within ${timeoutMs / 1000} s`)
    throw new Unavailable(`the camera can't be reached: ${error.cause?.code ?? error.message}`)
  }
}

/** Who is there is said once the camera asks for it, in the way that it asks for. */
async function ask({ snapshot: url, authentication: scheme, ...login }, signal) {
  const first = await fetch(url, { redirect: 'manual', signal })
  if (first.status !== 401 || login.username === undefined) return first
  await first.body?.cancel()
  const { pathname, search } = new URL(url)
  const request = { method: 'GET', uri: `${pathname}${search}` }
  const Authorization = authorizationFor(
    first.headers.get('www-authenticate'),
    { password: '', ...login, scheme },
    request,
  )
  if (Authorization === undefined)
    throw new Refused(`the camera asks for no ${scheme ?? 'Digest or Basic'} authentication`)
  return await fetch(url, { headers: { Authorization }, redirect: 'manual', signal })
}

/** The camera is there, and does not give what was asked. */
class Refused extends Error {}

async function bytesOf({ body }) {
  const parts = []
  let size = 0
  for await (const part of body ?? []) {
    size += part.length
    if (size > PICTURE_BYTES_MAX) throw new Refused(`the picture has more than ${PICTURE_BYTES_MAX} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

async function poll(camera) {
  await look(camera)
  setTimeout(() => void poll(camera), pollMs)
}
for (const camera of byName.values()) void poll(camera)
