#include <slimpack/service/plan_ticket.hpp>
