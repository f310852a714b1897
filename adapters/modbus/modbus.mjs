#!/usr/bin/env node
/** Devices that speak Modbus TCP. Each write is read back from the device; README.md has the settings. */
import { readFileSync } from 'node:fs'
import { givenPaths, Link, Unavailable } from '../link/link.mjs'
import { Bus, Silent } from './bus.mjs'
import { describedPoint, pointOf, rawOf, readPoint, writePoint } from './registers.mjs'

const POLL_MS_DEFAULT = 2000

const { settings: file, path } = givenPaths('node modbus.mjs')
const read = () => JSON.parse(readFileSync(file, 'utf8'))

/** A bus for each address, and what polls it. */
let buses = []
let devices = new Map()

const link = new Link({ path, name: 'modbus', serve: { read: readOf, write: writeOf, subscribe } })

function start({ hosts }) {
  const opened = []
  const found = new Map()
  for (const { host, port = 502, timeout_ms = 2000, poll_ms = POLL_MS_DEFAULT, devices: given } of hosts) {
    const bus = new Bus({ host, port, timeoutMs: timeout_ms })
    for (const one of given) {
      const points = new Map(one.capabilities.map(each => [each.capability, pointOf(each)]))
      found.set(one.device, { ...one, bus, points, heard: new Map(), identity: {} })
    }
    opened.push({ bus, pollMs: poll_ms, names: given.map(({ device }) => device), timer: undefined })
  }
  for (const { bus, timer } of buses) {
    clearTimeout(timer)
    bus.close()
  }
  for (const device of devices.keys()) if (!found.has(device)) link.forget(device)
  // who heard of a device goes on hearing of it
  for (const [name, { heard }] of devices) {
    const now = found.get(name)
    if (now !== undefined) now.heard = heard
  }
  buses = opened
  devices = found
  for (const one of buses) void poll(one)
}

/** Looks at each device from time to time: whether it is there, which it is, and what changed. */
async function poll(one) {
  for (const name of one.names) {
    const device = devices.get(name)
    if (device === undefined || device.bus !== one.bus) return
    await look(device).catch(error => {
      if (error instanceof Unavailable) return gone(device)
      console.error(`${name}: ${error.message}`)
    })
  }
  if (buses.includes(one)) one.timer = setTimeout(() => void poll(one), one.pollMs)
}

async function look(device) {
  const { bus, unit = 1, points, heard } = device
  const [first] = points.values()
  if (first !== undefined) await bus.run(unit, client => readPoint(client, first))
  if (device.seenConnection !== bus.connection) device.identity = await bus.identity(unit)
  device.seenConnection = bus.connection
  describe(device, true)
  for (const [capability, tells] of heard) {
    if (tells.size === 0 || !points.has(capability)) continue
    const value = await bus.run(unit, client => readPoint(client, points.get(capability)))
    for (const [tell, last] of tells) if (last !== value) tell({ value })
    for (const tell of tells.keys()) tells.set(tell, value)
  }
}

function describe({ device, name, capabilities, identity }, online) {
  link.describe({
    ...{ device, protocol: 'modbus', online, verify_trust: 2, auth_trust: 0, ...identity },
    ...(name === undefined ? {} : { name }),
    capabilities: capabilities.map(describedPoint),
  })
}

/** A device that was never seen is not described: nobody knows what it is. */
const gone = ({ device }) => link.state(device, false)

function known(name, capability) {
  const device = devices.get(name)
  const point = device?.points.get(capability)
  if (point === undefined) throw new Error(`${name} has no ${capability}`)
  return { device, point, unit: device.unit ?? 1 }
}

async function readOf(name, capability) {
  const { device, point, unit } = known(name, capability)
  const value = await reached(device, () => device.bus.run(unit, client => readPoint(client, point)))
  return { value, native_ack: true }
}

async function writeOf(name, capability, value) {
  const { device, point, unit } = known(name, capability)
  const raw = rawOf(point, value)
  const work = device.bus.run(unit, async client => {
    await writePoint(client, point, raw)
    return { native_ack: true, value: await readPoint(client, point) }
  })
  return await reached(device, () => work).catch(error => {
    if (error instanceof Silent) throw new Error(`${error.message}; whether it took effect is not known`)
    throw error
  })
}

async function reached(device, work) {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Unavailable) gone(device)
    throw error
  }
}

function subscribe(name, capability, tell) {
  const { device } = known(name, capability)
  const { heard } = device
  const tells = heard.get(capability) ?? new Map()
  heard.set(capability, tells.set(tell, undefined))
  return () => tells.delete(tell)
}

start(read())
process.on('SIGHUP', () => {
  try {
    start(read())
  } catch (error) {
    console.error(`the settings stay as they were: ${error.message}`)
  }
})
