// SPDX-License-Identifier: GPL-2.0
/* Commands to the device, and its removal when it does not answer any more. */
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>

#include "compat.h"
#include "upci.h"

#define COMMAND_LOOKS	600		/* ten in a second */
#define HEART_MISSES	10		/* periods without a beat */

void upci_ring_model(struct upci_dev *dev, u32 vector)
{
	writel(UPCI_MODEL_ID << 16 | vector, dev->regs + UPCI_DOORBELL);
}

static bool is_dead(const struct upci_dev *dev)
{
	return test_bit(UPCI_DEAD, &dev->flags);
}

/*
 * The device does not answer. A PCI device that is not a bus master reaches no
 * memory, so the destroying functions may free the memory that it used. This
 * does not stop the model, which is a process beside the bus: a model that
 * hangs and goes on later still writes to that memory. A registered device is
 * unregistered by upci_watch().
 */
void upci_die(struct upci_dev *dev)
{
	struct ib_event event = {
		.device = &dev->ib,
		.event = IB_EVENT_DEVICE_FATAL,
		.element.port_num = 1,
	};

	/* First: memory is freed as soon as the device counts as dead. */
	pci_clear_master(dev->pdev);
	if (test_and_set_bit(UPCI_DEAD, &dev->flags))
		return;
	dev_err(&dev->pdev->dev, "the device does not answer\n");
	wake_up_all(&dev->done);
	if (!test_bit(UPCI_REGISTERED, &dev->flags))
		return;
	ib_dispatch_event(&event);
	mod_delayed_work(system_long_wq, &dev->watch, 0);
}

/*
 * The device writes the number of the command behind its result. An interrupt
 * alone is no proof, since any process that maps BAR0 can raise one.
 */
static bool command_done(struct upci_dev *dev, u32 asked)
{
	return is_dead(dev) || readl(&dev->mem->cmd_done) == asked;
}

/* A dead device has forgotten all objects, so a destruction succeeds. */
static int dead_result(const struct upci_cmd *cmd)
{
	bool destroys = cmd->op >= UPCI_DESTROY_CQ &&
			cmd->op <= UPCI_DESTROY_MR;

	return destroys ? 0 : -EIO;
}

/* The result becomes an error pointer, so it must be one that may. */
static int checked_result(int result)
{
	return result > 0 || result < -MAX_ERRNO ? -EIO : result;
}

/*
 * Executes a command; its list is in BAR2 already. Context: the lock is held.
 */
int upci_command_locked(struct upci_dev *dev, const struct upci_cmd *cmd)
{
	u32 asked = readl(&dev->mem->cmd_asked) + 1, looks = COMMAND_LOOKS;

	lockdep_assert_held(&dev->lock);
	if (is_dead(dev))
		return dead_result(cmd);
	memcpy_toio(&dev->mem->cmd, cmd, sizeof(*cmd));
	writel(asked, &dev->mem->cmd_asked);
	upci_ring_model(dev, UPCI_BELL_COMMAND);
	/* A device that is no bus master yet cannot interrupt. */
	while (looks && !wait_event_timeout(dev->done, command_done(dev, asked),
					    HZ / 10))
		looks--;
	if (!looks)
		upci_die(dev);
	if (is_dead(dev))
		return dead_result(cmd);
	return checked_result((int)readl(&dev->mem->cmd_result));
}

int upci_command(struct upci_dev *dev, const struct upci_cmd *cmd)
{
	int ret;

	mutex_lock(&dev->lock);
	ret = upci_command_locked(dev, cmd);
	mutex_unlock(&dev->lock);
	return ret;
}

/*
 * The memory of the object is freed next, so a device that does not forget the
 * object must not go on.
 */
void upci_destroy(struct upci_dev *dev, enum upci_op op, u32 number)
{
	struct upci_cmd cmd = { .op = op, .number = number };

	if (upci_command(dev, &cmd))
		upci_die(dev);
}

static struct upci_ring ring_place(const struct univ_ring *ring)
{
	return (struct upci_ring){
		.head = ring->offset,
		.slots = ring->offset + sizeof(struct univ_ring_head),
		.count = ring->count,
		.stride = ring->stride,
	};
}

/*
 * A command that creates a queue with one or two rings, which lie in the same
 * pages.
 */
int upci_command_rings(struct upci_dev *dev, struct upci_cmd *cmd,
		       const struct univ_ring *ring,
		       const struct univ_ring *recv)
{
	void __iomem *list = (void __iomem *)dev->mem + UPCI_LIST;
	u32 i;
	int ret;

	if (ring->dma->count > UPCI_LIST_MAX)
		return -ENOMEM;
	cmd->ring = ring_place(ring);
	if (recv)
		cmd->recv = ring_place(recv);
	cmd->pages = ring->dma->count;
	mutex_lock(&dev->lock);
	for (i = 0; i < cmd->pages; i++)
		writeq(ring->dma->page[i], list + i * 8);
	ret = upci_command_locked(dev, cmd);
	mutex_unlock(&dev->lock);
	return ret;
}

/*
 * The device beats as long as it lives. When it is dead, the device is taken
 * from all programs as if it had been pulled out.
 */
void upci_watch(struct work_struct *work)
{
	struct upci_dev *dev = container_of(to_delayed_work(work),
					    struct upci_dev, watch);
	u32 heart = readl(&dev->mem->heart);

	dev->misses = heart == dev->heart ? dev->misses + 1 : 0;
	dev->heart = heart;
	if (dev->misses == HEART_MISSES)
		upci_die(dev);
	if (is_dead(dev))
		ib_unregister_device(&dev->ib);
	else
		queue_delayed_work(system_long_wq, &dev->watch,
				   UPCI_HEART_PERIOD);
}
