#!/usr/bin/env node
/** Zigbee devices behind a bridge that speaks MQTT as zigbee2mqtt does. README.md has the settings. */
import { readFileSync } from 'node:fs'
import mqtt from 'mqtt'
import { givenPaths, Link, Unavailable } from '../link/link.mjs'
import { capabilitiesOf, readingOf, toDevice } from './exposes.mjs'

/** How long a bridge may take to say that it sent what was written. */
const ECHO_MS = 1000
const TOPIC_WILDCARDS = /[+#\0]/

const { settings: file, path } = givenPaths('node mqtt.mjs')
const settings = JSON.parse(readFileSync(file, 'utf8'))
const { url, base = 'zigbee2mqtt', username, password, timeout_ms: timeoutMs = 5000 } = settings

/** By their address, which stays when somebody renames a device. */
let devices = new Map()
let isBridgeOnline = false
const availability = new Map()

const link = new Link({ path, name: 'mqtt', serve: { read, write, subscribe } })
const client = mqtt.connect(url, { username, password, reconnectPeriod: 1000, connectTimeout: timeoutMs })
client.on('connect', () => client.subscribe(`${base}/#`))
client.on('error', ({ message }) => console.error(`no broker: ${message}`))
client.on('close', () => bridge(false))
client.on('message', (topic, payload) => {
  try {
    heard(topic.slice(base.length + 1), String(payload))
  } catch (error) {
    console.error(`${topic}: ${error.message}`)
  }
})

function heard(topic, payload) {
  if (payload === '') return
  if (topic === 'bridge/devices') return inventory(JSON.parse(payload))
  if (topic === 'bridge/state') return bridge(stateIn(payload) === 'online')
  if (topic.startsWith('bridge/')) return
  if (topic.endsWith('/availability')) {
    availability.set(topic.slice(0, -'/availability'.length), stateIn(payload) === 'online')
    return [...devices.values()].forEach(tellState)
  }
  const device = [...devices.values()].find(({ name }) => name === topic)
  if (device !== undefined) report(device, JSON.parse(payload))
}

/** Earlier releases say the bare word. */
const stateIn = payload => (payload.startsWith('{') ? JSON.parse(payload).state : payload)

function bridge(isOnline) {
  isBridgeOnline = isOnline
  for (const device of devices.values()) tellState(device)
}

const isOnline = ({ name }) => isBridgeOnline && (availability.get(name) ?? true)
const tellState = device => link.state(device.id, isOnline(device))

/** The bridge tells all of its devices again whenever one of them changed. */
function inventory(list) {
  const found = new Map()
  for (const { ieee_address: id, friendly_name: name, type, definition, disabled = false } of list) {
    if (type === 'Coordinator' || !definition || disabled || TOPIC_WILDCARDS.test(name)) continue
    const before = devices.get(id)
    const device = {
      id,
      name,
      points: capabilitiesOf(definition.exposes ?? []),
      state: {},
      waiting: new Set(),
    }
    if (before !== undefined) Object.assign(device, { state: before.state, waiting: before.waiting })
    found.set(id, device)
    link.describe({
      ...{ device: id, protocol: 'zigbee', online: isOnline(device), verify_trust: 2, auth_trust: 1 },
      ...lines({ name, vendor: definition.vendor, model: definition.model }),
      capabilities: [...device.points.values()].map(({ described }) => described),
    })
  }
  for (const id of devices.keys()) if (!found.has(id)) link.forget(id)
  devices = found
}

const lines = members =>
  Object.fromEntries(
    Object.entries(members).flatMap(([name, text]) =>
      typeof text === 'string' && text !== '' ? [[name, text.replace(/\p{C}/gu, ' ').slice(0, 60)]] : [],
    ),
  )

function report(device, state) {
  Object.assign(device.state, state)
  for (const waits of [...device.waiting]) waits(state)
}

function known(id, capability) {
  const device = devices.get(id)
  const point = device?.points.get(capability)
  if (point === undefined) throw new Error(`${id} has no ${capability}`)
  if (!isOnline(device)) throw new Unavailable('device offline')
  return { device, point }
}

/** The next value of a property that is reported; undefined where none comes in time. */
function next(device, capability, waitMs) {
  return new Promise(resolve => {
    const end = value => {
      clearTimeout(timer)
      device.waiting.delete(waits)
      resolve(value)
    }
    const timer = setTimeout(() => end(undefined), waitMs)
    const waits = state => capability in state && end(state[capability])
    device.waiting.add(waits)
  })
}

const say = (device, verb, members) =>
  client.publish(`${base}/${device.name}/${verb}`, JSON.stringify(members))

/** Asks the device itself. */
async function asked(device, capability) {
  const answer = next(device, capability, timeoutMs)
  say(device, 'get', { [capability]: '' })
  return await answer
}

const silence = () => `no answer of the device within ${timeoutMs / 1000} s`

async function read(id, capability) {
  const { device, point } = known(id, capability)
  const value = point.canGet ? await asked(device, capability) : device.state[capability]
  if (value !== undefined) return { ...readingOf(point, value), native_ack: point.canGet }
  throw new Unavailable(point.canGet ? silence() : 'the device has reported nothing yet')
}

async function write(id, capability, value) {
  const { device, point } = known(id, capability)
  const echo = next(device, capability, ECHO_MS)
  say(device, 'set', { [capability]: toDevice(point, value) })
  // the bridge may tell what was written before the device has it: that is no proof, so the device is asked
  const echoed = await echo
  const reported = point.canGet ? await asked(device, capability) : echoed
  if (reported !== undefined) return { ...readingOf(point, reported), native_ack: true }
  throw new Error(`${silence()}; whether it took effect is not known`)
}

function subscribe(id, capability, tell) {
  const { device, point } = known(id, capability)
  const waits = state => {
    if (!(capability in state)) return
    try {
      tell(readingOf(point, state[capability]))
    } catch (error) {
      console.error(`${device.name}: ${error.message}`)
    }
  }
  const { waiting } = device
  waiting.add(waits)
  return () => waiting.delete(waits)
}
