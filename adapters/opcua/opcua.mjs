#!/usr/bin/env node
/** Variables of an OPC UA server as devices. What they are, and what may be written, is asked of the server. README.md has the settings. */
import { readFileSync } from 'node:fs'
import { givenPaths, Link, Unavailable } from '../link/link.mjs'
import { securityOf } from './session.mjs'
import { Silent, Variables } from './variables.mjs'

const POLL_MS = 2000

const { settings: file, path } = givenPaths('node opcua.mjs')
const settings = JSON.parse(readFileSync(file, 'utf8'))
const { endpoint, timeout_ms: timeoutMs = 3000, poll_ms: pollMs = POLL_MS, devices: given } = settings
let security
try {
  security = securityOf(settings)
} catch ({ message }) {
  console.error(`${file}: ${message}`)
  process.exit(2)
}
/** A server whose certificate was trusted is the one that it says it is. */
const authTrust = security.isSecure ? 2 : 0
const devices = new Map(given.map(one => [one.device, { ...one, points: new Map() }]))
const heard = new Set()

const link = new Link({ path, name: 'opcua', serve: { read, write, subscribe } })
const variables = new Variables({ endpoint, timeoutMs, security, lost: () => devices.forEach(gone) })

/** Connects where it has to; a new connection may lead to another server, so everything is looked at anew. */
async function poll() {
  try {
    if (await variables.connect()) {
      for (const device of devices.values()) await look(device)
      for (const one of heard) await attach(one)
    }
    for (const { device, points } of devices.values()) {
      const [first] = points.values()
      if (first !== undefined) await variables.read(first)
      link.state(device, true)
    }
    sayOnce(undefined)
  } catch (error) {
    if (error instanceof Unavailable) devices.forEach(gone)
    sayOnce(error.message)
  }
  setTimeout(() => void poll(), pollMs)
}

/** The same again and again while a server is away would hide what else is said. */
let said
function sayOnce(message) {
  if (message !== undefined && message !== said) console.error(message)
  said = message
}

const gone = ({ device }) => link.state(device, false)

async function look(device) {
  device.points = new Map()
  for (const one of device.capabilities) {
    const point = await variables.look(one).catch(error => {
      if (error instanceof Unavailable) throw error
      console.error(`${device.device} ${one.capability}: ${error.message}`)
    })
    if (point !== undefined) device.points.set(one.capability, point)
  }
  link.describe({
    ...{ device: device.device, protocol: 'opcua', online: true, verify_trust: 2, auth_trust: authTrust },
    ...(device.name === undefined ? {} : { name: device.name }),
    capabilities: [...device.points.values()].map(({ described }) => described),
  })
}

function known(name, capability) {
  const point = devices.get(name)?.points.get(capability)
  if (point === undefined) throw new Error(`${name} has no ${capability}`)
  return point
}

async function read(name, capability) {
  return await variables.read(known(name, capability))
}

async function write(name, capability, value) {
  const point = known(name, capability)
  try {
    await variables.write(point, value)
    return await variables.read(point)
  } catch (error) {
    if (error instanceof Silent) throw new Error(`${error.message}; whether it took effect is not known`)
    throw error
  }
}

function subscribe(name, capability, tell) {
  const one = { point: known(name, capability), tell, end: undefined }
  heard.add(one)
  void attach(one)
  return () => {
    heard.delete(one)
    one.end?.()
  }
}

async function attach(one) {
  const end = await variables.watch(one.point, one.tell).catch(({ message }) => console.error(message))
  one.end = end
  if (!heard.has(one)) end?.()
}

void poll()
