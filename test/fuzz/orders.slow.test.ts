import { testOrders } from './orders.ts'

testOrders(5000)
